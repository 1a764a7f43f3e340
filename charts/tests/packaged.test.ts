import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { load } from 'js-yaml'
import { CHART } from './helm.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const read = (file: string): string => readFileSync(join(CHART, file), 'utf8')

interface Chart {
  readonly version: string
  readonly home: string
  readonly sources: readonly string[]
  readonly icon: string
  readonly maintainers: readonly object[]
  readonly annotations: Readonly<Record<string, string>>
}

const chart = load(read('Chart.yaml')) as Chart
const { home } = chart

/** Returns the path in the repository to which a URL leads. Returns undefined if the URL leads elsewhere. */
function pathOf(url: string): string | undefined {
  const raw = home.replace('https://github.com/', 'https://raw.githubusercontent.com/')
  const [, path] = new RegExp(`^(?:${home}/(?:blob|tree)|${raw})/main/([^#]+)`).exec(url) ?? []
  return path
}

describe('packaged chart', () => {
  it('Chart.yaml names the repository, the maintainers, the license and all images', () => {
    expect(chart).toMatchObject({ sources: [home], maintainers: [{ name: 'The csi-sidecars Authors', url: home }] })
    const images = load(chart.annotations['artifacthub.io/images'] ?? '') as { image: string }[]
    expect(images.map(({ image }) => image.replace(/^ghcr\.io\/[^/]+\//, ''))).toEqual(
      ['attacher', 'resizer', 'provisioner', 'snapshotter', 'sidecars'].map((app) => `csi-${app}:v${chart.version}`),
    )
    expect(chart.annotations['artifacthub.io/license']).toBe('Apache-2.0')
  })

  it('every link of the packaged chart is a full URL of an existing file of the repository', () => {
    const readme = [...read('README.md').matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link)
    const links = load(chart.annotations['artifacthub.io/links'] ?? '') as { url: string }[]
    const [, runbook = ''] = /runbook: (\S+)/.exec(read('values.yaml')) ?? []
    const all = [...readme, ...links.map(({ url }) => url), chart.icon, runbook]
    expect(all.length).toBeGreaterThan(6)
    expect(all.filter((link) => !existsSync(join(ROOT, pathOf(link) ?? 'no path of the repository')))).toEqual([])
  })

  it('the README of the chart shows how to install the current version', () => {
    expect(read('README.md')).toMatch(new RegExp(`oci://\\S+/charts/csi-sidecars --version ${chart.version} `))
  })
})
