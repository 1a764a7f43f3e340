import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { load } from 'js-yaml'
import { releaseChart, withChanges, withImages } from './release-chart.ts'

const IN_CHART = ['attacher', 'resizer', 'provisioner', 'snapshotter', 'sidecars']
const DIGEST = `sha256:${'0a'.repeat(32)}`

interface Values {
  readonly image: { readonly registry: string }
  readonly [section: string]: { readonly registry?: string; readonly image?: { readonly digest: string } }
}

describe('releaseChart', () => {
  it('the chart of a release differs from the chart only in the registry and the image digests', () => {
    const folder = mkdtempSync(join(tmpdir(), 'chart-'))
    try {
      const digests = Object.fromEntries(IN_CHART.map((name, at) => [`csi-${name}`, `sha256:${`${at}f`.repeat(32)}`]))
      const chart = releaseChart(folder, 'ghcr.io/x', digests)
      const text = readFileSync(join(chart, 'values.yaml'), 'utf8')
      const values = load(text) as Values
      expect(values.image.registry).toBe('ghcr.io/x')
      expect(IN_CHART.map((name) => values[name]?.image?.digest)).toEqual(Object.values(digests))
      const original = join(import.meta.dirname, '../../charts/csi-sidecars/values.yaml')
      const before = readFileSync(original, 'utf8').split('\n')
      expect(text.split('\n').filter((line, at) => line !== before[at])).toHaveLength(6)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('the chart of a release accepts values that already contain the registry, and refuses another registry', () => {
    const values = 'image:\n  registry: ghcr.io/x # where\n'
    expect(withImages(values, 'ghcr.io/x', {})).toBe(values)
    expect(() => withImages('image:\n  registry: other\n', 'ghcr.io/x', {})).toThrow('no empty image.registry')
  })

  it('the chart of a release has its changes for Artifact Hub, without further paragraphs', () => {
    const chart = 'name: a\nversion: 0.2.0\nannotations:\n  artifacthub.io/license: Apache-2.0\n'
    const changelogs = new Map([
      ['csi-attacher', '# a\n\n## 0.2.0\n\n### Patch Changes\n\n- abc1234: A "quoted" name\n  is kept.\n\n  More.\n'],
      ['csi-resizer', '# b\n\n## 0.2.0\n\n### Minor Changes\n\n- 1112222: It resizes.\n'],
    ])
    const { annotations } = load(withChanges(chart, changelogs)) as { annotations: Record<string, string> }
    expect(annotations['artifacthub.io/license']).toBe('Apache-2.0')
    expect(load(annotations['artifacthub.io/changes'] ?? '')).toEqual([
      { kind: 'fixed', description: 'csi-attacher: A "quoted" name is kept.' },
      { kind: 'changed', description: 'csi-resizer: It resizes.' },
    ])
  })

  it('the chart has no changes before the first release, and refuses a version that no changelog has', () => {
    const chart = 'version: 0.3.0\nannotations:\n  a: b\n'
    expect(withChanges(chart, new Map())).toBe(chart)
    expect(() => withChanges(chart, new Map([['a', '## 0.2.0\n']]))).toThrow('no changelog has changes of 0.3.0')
  })

  it('the release of the chart fails for an unknown image or an invalid digest', () => {
    const values = 'image:\n  registry: ""\na:\n  image:\n    repository: a\n'
    expect(() => withImages(values, 'x', { a: DIGEST })).toThrow('no empty digest of a')
    expect(() => withImages(values, 'x', { a: 'v1.2.3' })).toThrow('a=v1.2.3 is no digest')
    expect(() => withImages(values, 'x', { b: DIGEST })).toThrow('no empty digest of b')
  })
})
