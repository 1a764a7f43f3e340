import { BinaryReader } from '@bufbuild/protobuf/wire'

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Reads a message and refuses text that is no UTF-8, as Go does; replaced bytes would be other text. */
export function strictReader(bytes: Uint8Array): BinaryReader {
  return new BinaryReader(bytes, textOf)
}

function textOf(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes)
  } catch (cause) {
    throw new Error('string field contains invalid UTF-8', { cause })
  }
}

/** Adds an entry to a map, for generated code. A plain assignment loses the key `__proto__`. */
export function putEntry<V>(map: Record<string, V>, { key, value }: { readonly key: string; readonly value: V }): void {
  if (key !== '__proto__') map[key] = value
  else Object.defineProperty(map, key, { value, writable: true, enumerable: true, configurable: true })
}
