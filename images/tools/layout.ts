import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export type Digest = `sha256:${string}`

/** An entry of a manifest or of an index, as the OCI image specification names its fields. */
export interface Descriptor {
  readonly mediaType: string
  readonly digest: Digest
  readonly size: number
  readonly platform?: Platform
  readonly annotations?: Readonly<Record<string, string>>
}

export interface Platform {
  readonly os: 'linux'
  readonly architecture: string
}

export interface Manifest {
  readonly schemaVersion: 2
  readonly mediaType: typeof MEDIA.manifest
  readonly config: Descriptor
  readonly layers: readonly Descriptor[]
}

export interface Index {
  readonly schemaVersion: 2
  readonly mediaType: typeof MEDIA.index
  readonly manifests: readonly Descriptor[]
}

export const MEDIA = {
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  index: 'application/vnd.oci.image.index.v1+json',
  imageConfig: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
} as const

/** By what a layout names its entries. */
export const REF_NAME = 'org.opencontainers.image.ref.name'

export function digestOf(content: Buffer | string): Digest {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`
}

export const jsonOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))

/** A folder in the form that the OCI image specification calls a layout. */
export class Layout {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Stores content once. */
  add(mediaType: string, content: Buffer): Descriptor {
    const digest = digestOf(content)
    const file = this.#fileOf(digest)
    if (!existsSync(file)) {
      mkdirSync(join(this.#folder, 'blobs/sha256'), { recursive: true })
      writeFileSync(file, content)
    }
    return { mediaType, digest, size: content.length }
  }

  read(digest: Digest): Buffer {
    const content = readFileSync(this.#fileOf(digest))
    if (digestOf(content) !== digest) throw new Error(`${this.#fileOf(digest)} is damaged: its SHA-256 is another`)
    return content
  }

  manifest(digest: Digest): Manifest {
    return JSON.parse(this.read(digest).toString()) as Manifest
  }

  /** What the layout holds, by name. */
  entries(): Readonly<Record<string, Descriptor>> {
    const { manifests } = JSON.parse(readFileSync(join(this.#folder, 'index.json'), 'utf8')) as Index
    return Object.fromEntries(manifests.map((entry) => [entry.annotations?.[REF_NAME] ?? '', entry]))
  }

  /** Written last: a layout without it was not finished. */
  finish(entries: Readonly<Record<string, Descriptor>>): void {
    const manifests = Object.entries(entries).map(([name, entry]) => ({ ...entry, annotations: { [REF_NAME]: name } }))
    writeFileSync(join(this.#folder, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}')
    writeFileSync(join(this.#folder, 'index.json'), jsonOf({ schemaVersion: 2, mediaType: MEDIA.index, manifests }))
  }

  #fileOf(digest: Digest): string {
    return join(this.#folder, 'blobs/sha256', digest.slice('sha256:'.length))
  }
}
