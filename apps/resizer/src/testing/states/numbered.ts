import type { Cached } from '@csi-sidecars/informer'
import { apiErrorOf } from '@csi-sidecars/kube-client'
import type { KubeObject, Patch, Resource } from '@csi-sidecars/kube-types'
import { applyPatch } from '@csi-sidecars/testkit'

/** Gives numbers to objects. Equal objects have the same number, so that states are small and quickly compared. */
export class Numbered<W extends KubeObject, T extends Cached> {
  readonly #resource: Resource<W>
  readonly #project: (object: W) => T
  readonly #numbers = new Map<string, number>()
  readonly #patched = new Map<string, number>()
  readonly #objects: { readonly wire: W; readonly cached: T }[] = []

  constructor(resource: Resource<W>, project: (object: W) => T) {
    this.#resource = resource
    this.#project = project
  }

  of(wire: W): number {
    const text = JSON.stringify(wire)
    const existing = this.#numbers.get(text)
    if (existing !== undefined) return existing
    const number = this.#objects.push({ wire, cached: this.#project(wire) }) - 1
    this.#numbers.set(text, number)
    return number
  }

  wire(number: number): W {
    return this.#at(number).wire
  }

  /** Returns the cached form of an object. */
  cached(number: number): T {
    return this.#at(number).cached
  }

  /** Returns the number of the patched object. A patch is built once for each object and `key`. */
  patched(number: number, key: string, patchOf: () => Pick<Patch, 'body'>): number {
    const full = `${number} ${key}`
    const remembered = this.#patched.get(full)
    if (remembered !== undefined) return remembered
    const patch = { kind: 'strategic', body: patchOf().body } as const
    const patched = this.of(applyPatch(this.wire(number), patch, { resource: this.#resource, errorOf: apiErrorOf }))
    this.#patched.set(full, patched)
    return patched
  }

  #at(number: number) {
    const object = this.#objects[number]
    if (object === undefined) throw new Error(`there is no object ${number}`)
    return object
  }
}
