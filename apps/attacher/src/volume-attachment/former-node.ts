import { messageOf } from '@csi-sidecars/base'
import { secretsFrom } from '@csi-sidecars/csi'
import type { Published } from '../published-nodes/diff.ts'
import type { DetachStep } from './decide-detach.ts'
import { isNotFoundByDriver } from './failure.ts'
import { volumeName } from './lanes.ts'
import { volumeOf } from './observe.ts'
import type { AttachmentRun } from './run.ts'

type FormerNodeStep = DetachStep & { readonly do: 'unpublishFormerNode' }

/**
 * The node was recreated under its name with another id, and the volume has been unpublished from that one. What the driver
 * still lists under the id that the attachment remembers is unpublished as well, unless that id may be another living node.
 */
export async function unpublishFormerNode(
  run: AttachmentRun,
  step: FormerNodeStep,
  secret: Readonly<Record<string, string>>,
): Promise<void> {
  const { deps, signal, log } = run
  const { request, nodeId, migrated } = step
  if (isInUse(run, request.nodeId) || !(await isListed(run, step)) || isInUse(run, request.nodeId)) return
  log.v(2)?.info('Detaching from the former id of the node too', { nodeID: nodeId, formerNodeID: request.nodeId })
  run.enter('calling')
  try {
    await deps.driver.unpublish({ ...request, secrets: secretsFrom(secret) }, { migrated, signal, log })
  } catch (error) {
    // The back end knows the former node no more.
    if (!isNotFoundByDriver(error)) throw error
  }
  deps.memory.published.unpublished(request)
}

/** Whether another node has the id now, or another attachment of the volume was published to it. */
function isInUse({ key, va, deps }: AttachmentRun, nodeId: string): boolean {
  const { nodes, attachments, volumes } = deps
  for (const node of nodes.values()) if (node.nodeId === nodeId && node.key !== va.nodeName) return true
  const name = volumeName(va, volumeOf(va, volumes))
  for (const other of attachments.store.values()) {
    if (other.key === key || !other.ours || other.nodeId !== nodeId) continue
    if (volumeName(other, volumeOf(other, volumes)) === name) return true
  }
  return false
}

/** Asks the driver now, after the unpublish. Where it cannot say, the former id is left alone, as without the question. */
async function isListed({ deps, signal, log }: AttachmentRun, { request, listedAs }: FormerNodeStep): Promise<boolean> {
  try {
    return (await deps.listPublished(signal)).get(listedAs)?.has(request.nodeId) === true
  } catch (error) {
    signal.throwIfAborted()
    const pairs = { formerNodeID: request.nodeId, err: messageOf(error) }
    log.v(2)?.info('Whether the volume is still attached to the former id of the node is unknown', pairs)
    return false
  }
}

/** Listings that are sent after they are asked for. All who ask while one is under way share the next one. */
export function sharedListing(
  list: (signal: AbortSignal) => Promise<Published>,
): (signal: AbortSignal) => Promise<Published> {
  let last: Promise<unknown> = Promise.resolve()
  let next: Promise<Published> | undefined
  return (signal) => {
    next ??= last.then(() => {
      next = undefined
      const listing = list(signal)
      last = listing.catch(() => {})
      return listing
    })
    return next
  }
}
