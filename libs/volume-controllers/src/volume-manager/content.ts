import type { ConfigMap, Secret } from '@csi-sidecars/kube-types'
import type { ContentSource } from '../caches/content-source.ts'

/** One file of a volume whose content the API holds. */
export interface ContentFile {
  readonly data: Buffer
  readonly mode: number
}

/** By the path inside the volume. */
export type Payload = ReadonlyMap<string, ContentFile>

/** Every key of a ConfigMap as bytes. */
export function configMapData({ data = {}, binaryData = {} }: ConfigMap): ReadonlyMap<string, Buffer> {
  return new Map([
    ...Object.entries(data).map(([key, text]): [string, Buffer] => [key, Buffer.from(text)]),
    ...Object.entries(binaryData).map(([key, text]): [string, Buffer] => [key, Buffer.from(text, 'base64')]),
  ])
}

/** Every key of a Secret as bytes. */
export function secretData({ data = {} }: Secret): ReadonlyMap<string, Buffer> {
  return new Map(Object.entries(data).map(([key, text]) => [key, Buffer.from(text, 'base64')]))
}

/**
 * The files that a pod asks for. Without a list all keys are files of their names. `data` is undefined for an object that
 * is not there and does not have to be. Throws kubelet's error message for a key that is missing.
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

/** The API refuses such paths too; what is written on this machine is looked at once more. */
function checked(path: string): string {
  const parts = path.split('/')
  const bad = path === '' || path.startsWith('/') || path.startsWith('..') || parts.includes('..')
  if (bad) throw new Error(`invalid path: must be below the volume: ${path}`)
  return path
}
