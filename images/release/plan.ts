import { type Descriptor, type Digest, digestOf, type Index, jsonOf, type Layout, MEDIA } from '../tools/layout.ts'
import { CHART, IMAGES } from '../tools/released.ts'
import type { StoredManifest } from './registry.ts'

/** One thing that a release tags: an image for all architectures, or the chart. */
export interface Subject {
  /** `owner/csi-attacher` */
  readonly repository: string
  readonly tag: string
  readonly digest: Digest
  readonly manifest: StoredManifest
  /** What the manifest names, by layout. */
  readonly parts: readonly Part[]
  /** The name of the image, by which its bill of materials is found; the chart has none. */
  readonly image: string | undefined
}

export interface Part {
  readonly layout: Layout
  readonly descriptor: Descriptor
}

export interface PlanOptions {
  readonly layouts: readonly Layout[]
  readonly owner: string
  /** `v1.2.3` */
  readonly version: string
}

/** Everything to store, sign and tag. Helm wants a chart's tag without the `v`. */
export function planOf({ layouts, owner, version }: PlanOptions): readonly Subject[] {
  const [first] = layouts
  if (first === undefined) throw new Error('nothing is built')
  const images = IMAGES.map(({ repository, target, suffix }): Subject => {
    const parts = layouts.map((layout) => ({ layout, descriptor: entryOf(layout, target) }))
    const content = jsonOf(indexOf(parts.map(({ descriptor }) => descriptor)))
    const manifest = { mediaType: MEDIA.index, content }
    const place = { repository: `${owner}/${repository}`, tag: `${version}${suffix}`, image: repository }
    return { ...place, digest: digestOf(content), manifest, parts }
  })
  return [...images, chartOf(layouts, { owner, version })]
}

function chartOf(layouts: readonly Layout[], { owner, version }: Omit<PlanOptions, 'layouts'>): Subject {
  const parts = layouts.map((layout) => ({ layout, descriptor: entryOf(layout, 'chart') }))
  const [part, ...others] = parts
  if (part === undefined || others.some(({ descriptor }) => descriptor.digest !== part.descriptor.digest)) {
    throw new Error('the machines of the build made different charts')
  }
  const { digest, mediaType } = part.descriptor
  const manifest = { mediaType, content: part.layout.read(digest) }
  const place = { repository: `${owner}/${CHART}`, tag: version.slice(1), image: undefined }
  return { ...place, digest, manifest, parts: [part] }
}

function indexOf(manifests: readonly Descriptor[]): Index {
  return { schemaVersion: 2, mediaType: MEDIA.index, manifests }
}

function entryOf(layout: Layout, name: string): Descriptor {
  const entry = layout.entries()[name]
  if (entry === undefined) throw new Error(`a layout has no ${name}`)
  return entry
}
