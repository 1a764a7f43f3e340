import { Transform, type TransformCallback } from 'node:stream'

const MAX_KEPT_BYTES = 1024 * 1024

/**
 * Passes the answer to a list or a watch on, and finds objects in its last bytes. The version of an object follows its UID
 * in protobuf and in JSON. In the JSON of a custom resource it precedes the UID.
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
    const following = this.#text().matchAll(new RegExp(`${uid}(?:2[^]|","resourceVersion":")(\\d+)`, 'g'))
    const preceding = this.#text().matchAll(new RegExp(`"resourceVersion":"(\\d+)","uid":"${uid}"`, 'g'))
    return [...following, ...preceding].some(([, delivered = '']) => BigInt(delivered) >= version)
  }

  /** Reports whether the sidecar was sent the deletion of an object. */
  hasDeletion(uid: string): boolean {
    return new RegExp(`DELETED(?:(?!MODIFIED|ADDED|BOOKMARK)[^]){0,20000}?${uid}`).test(this.#text())
  }

  #text(): string {
    return Buffer.concat(this.#chunks).toString('latin1')
  }
}
