import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { load } from 'js-yaml'
import { releasedChart, releasedReadme, releasedValues } from '../tools/released.ts'
import { CHART, exampleFile, render, runHelm } from './helm.ts'
import { ofKind, sidecar } from './manifest.ts'
import { merged, readValues } from './values.ts'
import { withHelm } from './with-helm.ts'

const RELEASE = { registry: 'ghcr.io/someone', repository: 'someone/csi-sidecars', tag: 'v0.1.0' }
const PAGES = 'https://github.com/someone/csi-sidecars/blob/v0.1.0'
const read = (file: string): string => readFileSync(join(CHART, file), 'utf8')

it('the README of a released chart has no relative link, and lines that work elsewhere', () => {
  const text = releasedReadme(read('README.md'), RELEASE)
  const links = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link)
  expect(links).toContain(`${PAGES}/docs/drivers.md`)
  expect(links.filter((link) => !link.startsWith('https://'))).toEqual([])
  const [line = ''] = text.match(/^helm upgrade .*$/m) ?? []
  expect(line).toContain('oci://ghcr.io/someone/charts/csi-sidecars --version 0.1.0 ')
  expect(line).toContain(
    '--values https://raw.githubusercontent.com/someone/csi-sidecars/v0.1.0/charts/csi-sidecars/examples/driver.yaml',
  )
  expect(text).not.toMatch(/registry\.example\.com\/storage|<owner>/)
})

it('a chart in which the place of a value is gone is not released', () => {
  expect(() => releasedValues('image:\n  registry: elsewhere\n', RELEASE)).toThrow('the chart has no')
})

withHelm('a released chart', () => {
  let folder: string

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'released-'))
    cpSync(CHART, folder, { recursive: true })
    const write = (file: string, text: string): void => writeFileSync(join(folder, file), text)
    write('values.yaml', releasedValues(read('values.yaml'), RELEASE))
    write('Chart.yaml', releasedChart(read('Chart.yaml'), RELEASE))
    write('README.md', releasedReadme(read('README.md'), RELEASE))
  })

  afterAll(() => rmSync(folder, { recursive: true }))

  it('says where it is from, who keeps it, and what is in it', () => {
    const chart = load(readFileSync(join(folder, 'Chart.yaml'), 'utf8')) as Record<string, unknown>
    expect(chart).toMatchObject({
      home: 'https://github.com/someone/csi-sidecars',
      sources: ['https://github.com/someone/csi-sidecars/tree/v0.1.0'],
      icon: 'https://raw.githubusercontent.com/someone/csi-sidecars/v0.1.0/charts/csi-sidecars/icon.svg',
      maintainers: [{ name: 'The csi-sidecars Authors', url: 'https://github.com/someone/csi-sidecars' }],
    })
    const { 'artifacthub.io/images': images = '', 'artifacthub.io/links': links = '' } = chart['annotations'] as Record<
      string,
      string
    >
    expect(load(images)).toContainEqual({ name: 'csi-attacher', image: 'ghcr.io/someone/csi-attacher:v0.1.0' })
    expect((load(links) as { url: string }[]).map(({ url }) => url)).toContain(`${PAGES}/docs/operations.md`)
  })

  it('passes helm lint --strict', () => {
    expect(runHelm(['lint', '--strict', folder])).toMatchObject({ status: 0 })
  })

  it('needs no registry, and its alerts lead to the page of the release', () => {
    const values = merged(readValues(exampleFile('monitored')), { image: { registry: undefined } })
    const objects = render({ chart: folder, values })
    expect(sidecar(objects, 'attacher').image).toBe('ghcr.io/someone/csi-attacher:v0.1.0')
    const rules = ofKind(objects, 'PrometheusRule')[0]?.spec?.groups?.flatMap((group) => group.rules) ?? []
    expect(rules[0]?.annotations['runbook_url']).toBe(`${PAGES}/docs/operations.md#csisidecarhasnoleader`)
  })
})
