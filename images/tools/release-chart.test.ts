import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { load } from 'js-yaml'
import { releaseChart, withImages } from './release-chart.ts'

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

  it('the release of the chart fails for an unknown image or an invalid digest', () => {
    const values = 'image:\n  registry: ""\na:\n  image:\n    repository: a\n'
    expect(() => withImages(values, 'x', { a: DIGEST })).toThrow('no empty digest of a')
    expect(() => withImages(values, 'x', { a: 'v1.2.3' })).toThrow('a=v1.2.3 is no digest')
    expect(() => withImages(values, 'x', { b: DIGEST })).toThrow('no empty digest of b')
  })
})
