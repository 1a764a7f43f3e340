import { lstatSync, type Stats } from 'node:fs'
import type { VolumeCapability } from '@csi-sidecars/csi-proto'
import type { ProxiedCall } from '@csi-sidecars/disturb'
import type { Violation } from './checks.ts'
import { text } from './tracker.ts'

/** Returns the kind of file at a path, without following links. Undefined if there is none. */
export type ReadPath = (path: string) => Pick<Stats, 'isDirectory'> | undefined

const readPath: ReadPath = (path) => lstatSync(path, { throwIfNoEntry: false })

/** Checks target paths on disk when a driver has answered, before the caller gets the answer. */
export class Targets {
  readonly #readPath: ReadPath
  /** The methods of calls that ended without an answer, by target path. The driver may still work at these paths. */
  readonly #doubtful = new Map<string, string>()

  constructor(read: ReadPath = readPath) {
    this.#readPath = read
  }

  see(call: ProxiedCall): readonly Violation[] {
    const { method, request, end, code } = call
    if (end === undefined || (method !== 'NodePublishVolume' && method !== 'NodeUnpublishVolume')) return []
    const path = text(request['targetPath'])
    if (code === undefined) this.#doubtful.set(path, method)
    if (code !== 0) return []
    const doubt = this.#doubtful.get(path)
    if (doubt === method) this.#doubtful.delete(path)
    else if (doubt !== undefined) return []
    const wrong = method === 'NodePublishVolume' ? this.#missing(path, request) : this.#left(path)
    if (wrong === undefined) return []
    const subjectId = text(request['volumeId'])
    return [{ check: 'placed', subjectId, text: `${method} of ${subjectId} succeeded, and ${wrong} ${path}` }]
  }

  #missing(path: string, request: ProxiedCall['request']): string | undefined {
    const block = (request['volumeCapability'] as VolumeCapability | undefined)?.accessType?.$case === 'block'
    const found = this.#readPath(path)
    if (found === undefined) return 'there is nothing at'
    if (block && found.isDirectory()) return 'there is a directory, not a device, at'
    return block || found.isDirectory() ? undefined : 'there is no directory at'
  }

  #left(path: string): string | undefined {
    return this.#readPath(path) === undefined ? undefined : 'there still is something at'
  }
}
