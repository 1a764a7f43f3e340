import { pairOf } from './back-end.ts'

/**
 * Reports whether a volume may be on several nodes. Volumes without a PersistentVolume are a different quarter
 * (`isInline`).
 */
export function isShared(index: number): boolean {
  return index % 4 === 0
}

export function isInline(index: number): boolean {
  return index % 4 === 3
}

/** The names of volumes and nodes in the API and in the driver. A replaced volume or node keeps only its API name. */
export class Identities {
  readonly #name: (what: string) => string
  readonly #nodes = new Map<number, number>()
  readonly #handles = new Map<number, number>()

  constructor(name: (what: string) => string) {
    this.#name = name
  }

  attachment(index: number, node: number): string {
    return this.#name(`va-${index}-${node}`)
  }

  volume(index: number): string {
    return this.#name(`disk-${index}`)
  }

  handle(index: number): string {
    return `${this.volume(index)}-handle-${this.#handles.get(index) ?? 0}`
  }

  node(node: number): string {
    return this.#name(`node-${node}`)
  }

  nodeId(node: number): string {
    return `${this.node(node)}-id-${this.#nodes.get(node) ?? 0}`
  }

  pair(index: number, node: number): string {
    return pairOf(this.handle(index), this.nodeId(node))
  }

  replaceHandle(index: number): void {
    this.#handles.set(index, (this.#handles.get(index) ?? 0) + 1)
  }

  replaceNode(node: number): void {
    this.#nodes.set(node, (this.#nodes.get(node) ?? 0) + 1)
  }
}
