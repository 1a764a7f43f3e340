import { awaitedObjects, type Controller, causesOf, KeyFeed, keysOf, objectOf } from '@csi-sidecars/controller'
import {
  SECRETS,
  VOLUME_ATTRIBUTES_CLASSES,
  VOLUME_SNAPSHOT_CONTENTS,
  VOLUME_SNAPSHOTS,
} from '@csi-sidecars/kube-types'
import { FifoOrder, reservedFor } from '@csi-sidecars/workqueue'
import { topologyOfNode } from '../node/local-node.ts'
import { backoffOf, type TermParts } from '../parts.ts'
import { sweepSnapshots } from '../sources/protection.ts'
import type { TopologyNodes } from '../topology/requirement.ts'
import { isListedRestoring, isRestoring } from './content.ts'
import { ClaimMemory } from './memory.ts'
import { claimTable } from './pending.ts'
import { reconcileClaim } from './reconcile.ts'
import type { ClaimDeps } from './run.ts'
import { storeController } from './save.ts'
import { causesOfSources, causesOfTopology, claimTrigger, endsOf } from './triggers.ts'

/** The kinds of objects that claims wait for and no cache holds: roles of provisioners cannot watch them all. */
const AWAITED = {
  secret: SECRETS,
  snapshot: VOLUME_SNAPSHOTS,
  snapshotContent: VOLUME_SNAPSHOT_CONTENTS,
  attributesClass: VOLUME_ATTRIBUTES_CLASSES,
}

/** Returns the controllers that create volumes for claims and store their PersistentVolumes. */
export function claimControllers(parts: TermParts): readonly Controller[] {
  const { settings, claims, volumes, classes, clock, log } = parts
  const cluster = settings.topology ? parts.topology : undefined
  const memory = new ClaimMemory(clock, settings.retryMaxMs)
  const unsaved = new KeyFeed()
  const again = new KeyFeed()
  const deps: ClaimDeps = {
    ...parts,
    topology: settings.topology ? topologyNodes(parts) : undefined,
    memory,
    storeLater: (name) => unsaved.add(name),
    claimAgain: (uid) => again.add(uid),
  }
  const order = new FifoOrder({ workers: settings.workers, reserved: reservedFor(settings.workers) })
  const sweep = (stop: AbortSignal): Promise<void> => {
    const isNeeded = (key: string): boolean => isRestoring(deps, key)
    const isListed = (key: string, signal: AbortSignal): Promise<boolean> => isListedRestoring(deps, key, signal)
    return sweepSnapshots({ ...parts, intervalMs: settings.sweepMs, isNeeded, isListed }, stop)
  }
  const claimController: Controller = {
    name: 'claims',
    workers: order.capacity,
    order,
    backoff: backoffOf(settings),
    onStart: () => log.info('Started provisioner controller', { component: settings.component }),
    caches: [claims, volumes, classes, ...(cluster === undefined ? [] : [cluster.nodes, cluster.registrations])],
    sources: [
      endsOf(claims, memory),
      awaitedObjects({ api: parts.api, clock, resources: AWAITED }),
      again.source,
      keysOf(claims, claimTrigger(settings, memory)),
      causesOf(classes, (event) => [{ on: 'class', name: objectOf(event).key }]),
      ...(cluster === undefined ? [] : causesOfTopology(cluster)),
      ...causesOfSources(parts, settings),
    ],
    reconcile: (uid, run) => reconcileClaim(uid, deps, run),
    pending: claimTable(deps),
    callsDriver: true,
    ...(settings.sweepMs > 0 && { alongside: (_queue, stop) => sweep(stop) }),
    onDriverReturn: () => memory.onDriverReturn(),
  }
  return [claimController, storeController(deps, unsaved.source)]
}

function topologyNodes({ settings, topology }: TermParts): TopologyNodes | undefined {
  if (settings.node !== undefined) return topologyOfNode(settings.node)
  const { nodes, registrations } = topology ?? {}
  return nodes && registrations && { nodes: nodes.store, registrations: registrations.store }
}
