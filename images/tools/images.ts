import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipOf, tarOf } from './archive.ts'
import { ARCHITECTURE } from './context.ts'
import { readTarget, type Target } from './dockerfile.ts'
import { type Descriptor, type Digest, digestOf, jsonOf, type Layout, type Manifest, MEDIA } from './layout.ts'
import { IMAGES } from './released.ts'

export interface ImageOptions {
  readonly version: string
  /** The commit. */
  readonly revision: string
  /** The address of the repository. */
  readonly source: string
  /** Milliseconds since 1970. */
  readonly createdAt: number
}

interface Layer {
  readonly descriptor: Descriptor
  /** Of the archive before it was compressed. */
  readonly diffId: Digest
}

/**
 * Makes every image from what the Dockerfile says and from a context, without a builder. Files have the time 0, so that a
 * layer whose files are those of the previous release is the same layer, and nodes of a cluster keep it.
 */
export function makeImages(
  context: string,
  layout: Layout,
  options: ImageOptions,
): Readonly<Record<string, Descriptor>> {
  const dockerfile = readFileSync(join(context, 'Dockerfile'), 'utf8')
  const { version: VERSION, revision: REVISION, source: SOURCE } = options
  const values = { TARGETARCH: ARCHITECTURE, VERSION, REVISION, SOURCE }
  const layers = new Map<string, Layer>()
  const layerOf = (folder: string): Layer => {
    const made = layers.get(folder) ?? makeLayer(join(context, folder), layout)
    layers.set(folder, made)
    return made
  }
  return Object.fromEntries(
    IMAGES.map(({ target }) => {
      const read = readTarget(dockerfile, target, values)
      return [target, makeImage({ target: read, layers: read.layers.map(layerOf), layout, options })]
    }),
  )
}

function makeLayer(folder: string, layout: Layout): Layer {
  const tar = tarOf(folder, { time: 0 })
  return { descriptor: layout.add(MEDIA.layer, gzipOf(tar)), diffId: digestOf(tar) }
}

interface MakeImage {
  readonly target: Target
  readonly layers: readonly Layer[]
  readonly layout: Layout
  readonly options: ImageOptions
}

function makeImage({ target, layers, layout, options }: MakeImage): Descriptor {
  const created = new Date(options.createdAt).toISOString()
  const config = {
    created,
    architecture: ARCHITECTURE,
    os: 'linux',
    config: {
      ...(target.user !== undefined && { User: target.user }),
      Env: target.environment,
      Entrypoint: target.entrypoint,
      Labels: target.labels,
    },
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
    history: target.layers.map((folder) => ({ created, created_by: `COPY ${folder}/ /` })),
  }
  const manifest: Manifest = {
    schemaVersion: 2,
    mediaType: MEDIA.manifest,
    config: layout.add(MEDIA.imageConfig, jsonOf(config)),
    layers: layers.map(({ descriptor }) => descriptor),
  }
  const platform = { os: 'linux', architecture: ARCHITECTURE } as const
  return { ...layout.add(MEDIA.manifest, jsonOf(manifest)), platform }
}
