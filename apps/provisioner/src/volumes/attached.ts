import { abortable } from '@csi-sidecars/base'
import type { KubeClient } from '@csi-sidecars/kube-client'
import { VOLUME_ATTACHMENT_MESSAGE, VOLUME_ATTACHMENTS, type VolumeAttachment } from '@csi-sidecars/kube-types'
import { projectAttachment } from '../caches/cluster.ts'

type Nodes = ReadonlyMap<string, string>

/**
 * Reads from the API server which volumes are attached, because the cache may lag.
 *
 * Guarantees: an answer is from a list that began after the question. Questions during a list share the next list.
 */
export class AttachedVolumes {
  readonly #api: Pick<KubeClient, 'list'>
  #running: Promise<unknown> = Promise.resolve()
  /** The list that has not begun. */
  #next: Promise<Nodes> | undefined

  constructor(api: Pick<KubeClient, 'list'>) {
    this.#api = api
  }

  /** Returns a node to which the PersistentVolume is attached. Undefined: none. */
  async nodeOf(volume: string, signal: AbortSignal): Promise<string | undefined> {
    this.#next ??= this.#after(this.#running)
    return (await abortable(this.#next, signal)).get(volume)
  }

  #after(running: Promise<unknown>): Promise<Nodes> {
    const nodes = running.then(() => {
      this.#next = undefined
      return this.#list()
    })
    this.#running = nodes.catch(() => undefined)
    return nodes
  }

  async #list(): Promise<Nodes> {
    const nodes = new Map<string, string>()
    const listing = { message: VOLUME_ATTACHMENT_MESSAGE, project: (va: VolumeAttachment) => projectAttachment(va) }
    for await (const { items } of this.#api.list(VOLUME_ATTACHMENTS, listing)) {
      for (const { volume, node } of items) nodes.set(volume, node)
    }
    return nodes
  }
}
