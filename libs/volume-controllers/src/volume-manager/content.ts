import type { ConfigMap, Secret } from '@csi-sidecars/kube-types'
import type { ContentSource } from '../caches/content-source.ts'

/** One file of a ConfigMap or Secret volume. */
export interface ContentFile {
  readonly data: Buffer
  readonly mode: number
}

/** The files of a volume, by their paths in the volume. */
export type Payload = ReadonlyMap<string, ContentFile>

/** Returns the keys of a ConfigMap with their values as bytes. */
export function configMapData({ data = {}, binaryData = {} }: ConfigMap): ReadonlyMap<string, Buffer> {
  return new Map([
    ...Object.entries(data).map(([key, text]): [string, Buffer] => [key, Buffer.from(text)]),
    ...Object.entries(binaryData).map(([key, text]): [string, Buffer] => [key, Buffer.from(text, 'base64')]),
  ])
}

/** Returns the keys of a Secret with their values as bytes. */
export function secretData({ data = {} }: Secret): ReadonlyMap<string, Buffer> {
  return new Map(Object.entries(data).map(([key, text]) => [key, Buffer.from(text, 'base64')]))
}

/**
 * Returns the files that a pod requests, by default one for each key. `data` is undefined if an optional object is
 * missing. Throws the error message of kubelet if a key is missing.
 */
export function payloadOf(source: ContentSource, data: ReadonlyMap<string, Buffer> | undefined): Payload {
  const { items, mode, optional, kind } = source
  const payload = new Map<string, ContentFile>()
  if (items === undefined) {
    for (const [key, bytes] of data ?? []) payload.set(key, { data: bytes, mode })
    return payload
  }
  for (const { key, path, mode: own } of items) {
    const bytes = data?.get(key)
    if (bytes !== undefined) payload.set(checked(path), { data: bytes, mode: own ?? mode })
    else if (!optional)
      throw new Error(`references non-existent ${kind === 'secret' ? 'secret' : 'config'} key: ${key}`)
  }
  return payload
}

/** Checks a path again before this machine writes it, although the API server checks paths too. */
function checked(path: string): string {
  const parts = path.split('/')
  const bad = path === '' || path.startsWith('/') || path.startsWith('..') || parts.includes('..')
  if (bad) throw new Error(`invalid path: must be below the volume: ${path}`)
  return path
}
