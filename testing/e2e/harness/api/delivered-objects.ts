import { Transform, type TransformCallback } from 'node:stream'

const MAX_KEPT_BYTES = 1024 * 1024

/**
 * Passes the answer to a list or a watch on, and finds objects in its last bytes. In JSON and in protobuf, the version of
 * an object follows its UID.
 */
export class DeliveredObjects extends Transform {
  readonly #chunks: Buffer[] = []
  #kept = 0

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#chunks.push(chunk)
    this.#kept += chunk.length
    while (this.#kept > MAX_KEPT_BYTES && this.#chunks.length > 1) this.#kept -= this.#chunks.shift()?.length ?? 0
    done(null, chunk)
  }

  /** Reports whether the sidecar was sent this version of an object, or a newer version. */
  hasVersion(uid: string, version: bigint): boolean {
    const versions = this.#text().matchAll(new RegExp(`${uid}(?:2[^]|","resourceVersion":")(\\d+)`, 'g'))
    return [...versions].some(([, delivered = '']) => BigInt(delivered) >= version)
  }

  /** Reports whether the sidecar was sent the deletion of an object. */
  hasDeletion(uid: string): boolean {
    return new RegExp(`DELETED(?:(?!MODIFIED|ADDED)[^]){0,800}?${uid}`).test(this.#text())
  }

  #text(): string {
    return Buffer.concat(this.#chunks).toString('latin1')
  }
}
