/** What a worker is to do. */
export interface WorkerTask {
  readonly reader: string
  readonly corpus: readonly Uint8Array[]
  readonly ms: number
  readonly seed: number
  readonly guided: boolean
  /** The input that it reads now: where it is not heard of again, this is why. */
  readonly shared: SharedArrayBuffer
}

/** The count of inputs and the length of this one precede its bytes. */
const HEAD = 2
const LONGEST = 64 * 1024

export function sharedInput(): SharedArrayBuffer {
  return new SharedArrayBuffer(HEAD * Int32Array.BYTES_PER_ELEMENT + LONGEST)
}

export function showInput(shared: SharedArrayBuffer, input: Buffer): void {
  const head = new Int32Array(shared, 0, HEAD)
  const length = Math.min(input.length, LONGEST)
  new Uint8Array(shared, head.byteLength).set(input.subarray(0, length))
  head[1] = length
  Atomics.add(head, 0, 1)
}

/** The input that is read now, and its number. */
export function shownInput(shared: SharedArrayBuffer): { readonly number: number; readonly input: Buffer } {
  const head = new Int32Array(shared, 0, HEAD)
  const bytes = new Uint8Array(shared, head.byteLength, head[1] ?? 0)
  return { number: Atomics.load(head, 0), input: Buffer.from(bytes) }
}
