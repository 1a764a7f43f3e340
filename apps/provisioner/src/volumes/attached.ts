import { abortable, CancelledError, scope } from '@csi-sidecars/base'
import type { KubeClient } from '@csi-sidecars/kube-client'
import { VOLUME_ATTACHMENT_MESSAGE, VOLUME_ATTACHMENTS, type VolumeAttachment } from '@csi-sidecars/kube-types'
import { projectAttachment } from '../caches/cluster.ts'

type Nodes = ReadonlyMap<string, string>

/** A list of VolumeAttachments that several questions share. */
interface Listing {
  readonly nodes: Promise<Nodes>
  readonly cancel: () => void
  /** The number of questions that wait for the list. */
  questions: number
}

/**
 * Reads from the API server which volumes are attached, because the cache may lag.
 *
 * Guarantees: an answer is from a list that began after the question. Questions during a list share the next list. A
 * list is cancelled when all its questions are aborted.
 */
export class AttachedVolumes {
  readonly #api: Pick<KubeClient, 'list'>
  #running: Promise<unknown> = Promise.resolve()
  /** The list that has not begun. */
  #next: Listing | undefined

  constructor(api: Pick<KubeClient, 'list'>) {
    this.#api = api
  }

  /** Returns a node to which the PersistentVolume is attached. Undefined: none. */
  async nodeOf(volume: string, signal: AbortSignal): Promise<string | undefined> {
    this.#next ??= this.#listAfter(this.#running)
    const listing = this.#next
    listing.questions += 1
    try {
      return (await abortable(listing.nodes, signal)).get(volume)
    } finally {
      listing.questions -= 1
      if (listing.questions === 0) this.#end(listing)
    }
  }

  #listAfter(running: Promise<unknown>): Listing {
    const life = scope()
    const listing: Listing = {
      nodes: running.then(() => {
        if (this.#next === listing) this.#next = undefined
        return this.#list(life.signal)
      }),
      cancel: () => life.abort(new CancelledError('no question waits for the list')),
      questions: 0,
    }
    this.#running = listing.nodes.catch(() => undefined)
    return listing
  }

  #end(listing: Listing): void {
    if (this.#next === listing) this.#next = undefined
    listing.cancel()
  }

  async #list(signal: AbortSignal): Promise<Nodes> {
    signal.throwIfAborted()
    const nodes = new Map<string, string>()
    const project = (va: VolumeAttachment) => projectAttachment(va)
    const listing = { message: VOLUME_ATTACHMENT_MESSAGE, project, signal }
    for await (const { items } of this.#api.list(VOLUME_ATTACHMENTS, listing)) {
      for (const { volume, node } of items) nodes.set(volume, node)
    }
    return nodes
  }
}
