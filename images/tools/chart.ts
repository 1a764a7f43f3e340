import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, matchesGlob } from 'node:path'
import { readMetadata } from '../../charts/tools/metadata.ts'
import { gzipOf, tarOf } from './archive.ts'
import { withRegistry } from './fill.ts'
import { type Descriptor, jsonOf, type Layout, type Manifest, MEDIA } from './layout.ts'

const NAME = 'csi-sidecars'
const CONFIG = 'application/vnd.cncf.helm.config.v1+json'
const CONTENT = 'application/vnd.cncf.helm.chart.content.v1.tar+gzip'

export interface ChartOptions {
  /** The root of the repository. */
  readonly root: string
  /** Where the images are, for values that name no registry. */
  readonly registry: string
  /** Milliseconds since 1970: `helm package` writes the time at which it runs. */
  readonly createdAt: number
}

interface ChartFile {
  /** `csi-sidecars-1.2.3.tgz` */
  readonly name: string
  readonly content: Buffer
  /** Chart.yaml, read. */
  readonly metadata: Readonly<Record<string, unknown>>
}

/** The archive of the chart: the same sources give the same bytes. */
export function packChart({ root, registry, createdAt }: ChartOptions): ChartFile {
  const work = mkdtempSync(join(tmpdir(), 'chart-'))
  try {
    const [from, to] = [join(root, 'charts', NAME), join(work, NAME)]
    const ignored = readFileSync(join(from, '.helmignore'), 'utf8').split('\n')
    mkdirSync(to)
    cpSync(from, to, { recursive: true, filter: (path) => !ignored.some((glob) => matchesGlob(basename(path), glob)) })
    rmSync(join(to, '.helmignore'))
    const values = join(to, 'values.yaml')
    writeFileSync(values, withRegistry(readFileSync(values, 'utf8'), registry))
    const metadata = readMetadata(to)
    const content = gzipOf(tarOf(work, { time: Math.floor(createdAt / 1000) }))
    return { name: `${NAME}-${String(metadata['version'])}.tgz`, content, metadata }
  } finally {
    rmSync(work, { recursive: true })
  }
}

/** Adds the chart as `helm push` would. */
export function addChart({ content, metadata }: ChartFile, layout: Layout): Descriptor {
  const manifest: Manifest = {
    schemaVersion: 2,
    mediaType: MEDIA.manifest,
    config: layout.add(CONFIG, jsonOf(metadata)),
    layers: [layout.add(CONTENT, content)],
  }
  return layout.add(MEDIA.manifest, jsonOf(manifest))
}
