import {
  type AnyController,
  adaptToPressure,
  awaitedObjects,
  type Controller,
  enqueueOn,
  KeyFeed,
  objectOf,
  type Wakers,
  wakeOn,
} from '@csi-sidecars/controller'
import {
  type KubeObject,
  type Resource,
  SECRETS,
  VOLUME_ATTRIBUTES_CLASSES,
  VOLUME_SNAPSHOT_CONTENTS,
  VOLUME_SNAPSHOTS,
} from '@csi-sidecars/kube-types'
import { FifoOrder, reservedFor } from '@csi-sidecars/workqueue'
import { backoffOf, type TermParts } from '../parts.ts'
import type { AwaitedKind, ClaimWakeKind } from '../request/wake-events.ts'
import { sweepSnapshots } from '../sources/protection.ts'
import type { TopologyNodes } from '../topology/requirement.ts'
import { topologyOfNode } from '../topology/single-node.ts'
import { isRestoring, isRestoringInFreshList } from './content.ts'
import type { ClaimMemory } from './memory.ts'
import { claimTable } from './pending.ts'
import { reconcileClaim } from './reconcile.ts'
import type { ClaimDeps } from './run.ts'
import {
  anyNodeSource,
  claimTrigger,
  forgetEndedClaims,
  selectedNodeSource,
  wakesOnClaim,
  wakesOnVolume,
} from './triggers.ts'
import { unsavedController } from './unsaved-controller.ts'

/** The kinds of objects that claims wait for and no cache holds: roles of provisioners cannot watch them all. */
const AWAITED: Readonly<Record<AwaitedKind, Resource<KubeObject>>> = {
  secret: SECRETS,
  snapshot: VOLUME_SNAPSHOTS,
  snapshotContent: VOLUME_SNAPSHOT_CONTENTS,
  attributesClass: VOLUME_ATTRIBUTES_CLASSES,
}

/** Returns the controllers that create volumes for claims and store their PersistentVolumes. */
export function claimControllers(term: TermParts, memory: ClaimMemory): readonly AnyController[] {
  const { settings, claims, volumes, classes, log } = term
  const cluster = settings.topology ? term.topology : undefined
  const unsaved = new KeyFeed()
  const again = new KeyFeed()
  const deps: ClaimDeps = {
    ...term,
    topology: settings.topology ? topologyNodes(term) : undefined,
    memory,
    finishCreationLater: (name) => unsaved.add(name),
    enqueueClaimAgain: (uid) => again.add(uid),
  }
  const order = new FifoOrder({ workers: settings.workers, reserved: reservedFor(settings.workers) })
  const sweep = (stop: AbortSignal): Promise<void> => {
    const isNeeded = (key: string): boolean => isRestoring(deps, key)
    const isNeededOnServer = (key: string, signal: AbortSignal): Promise<boolean> =>
      isRestoringInFreshList(deps, key, signal)
    return sweepSnapshots({ ...term, intervalMs: settings.sweepMs, isNeeded, isNeededOnServer }, stop)
  }
  const claimController: Controller<ClaimWakeKind> = {
    name: 'claims',
    workers: order.capacity,
    order,
    backoff: backoffOf(settings),
    onStart: () => log.info('Started provisioner controller', { component: settings.component }),
    caches: [claims, volumes, classes, ...(cluster === undefined ? [] : [cluster.nodes, cluster.registrations])],
    sources: [forgetEndedClaims(claims, memory), again.source, enqueueOn(claims, claimTrigger(settings, memory))],
    wakers: claimWakers(term),
    reconcile: (uid, run) => reconcileClaim(uid, deps, run),
    pending: claimTable(deps),
    callsDriver: true,
    ...(settings.sweepMs > 0 && { alongside: (_queue, stop) => sweep(stop) }),
    onDriverReturn: () => memory.onDriverReturn(),
  }
  return [adaptToPressure(claimController, term), unsavedController(deps, unsaved.source)]
}

function claimWakers(term: TermParts): Wakers<ClaimWakeKind> {
  const { settings, claims, volumes, classes, api, clock } = term
  const awaited = awaitedObjects({ api, clock, resources: AWAITED })
  const cluster = settings.topology ? term.topology : undefined
  const noNodes = (): (() => void) => () => undefined
  return {
    class: {
      object: 'StorageClass',
      reason: 'StorageClassNotUsable',
      source: wakeOn(classes, (event) => [{ kind: 'class', name: objectOf(event).key }]),
    },
    volume: { object: 'PersistentVolume', reason: 'VolumeNameTaken', source: wakeOn(volumes, wakesOnVolume) },
    node: { object: 'Node', reason: 'TopologyOfNodeMissing', source: cluster ? selectedNodeSource(cluster) : noNodes },
    nodes: { object: 'Node', reason: 'TopologyMissing', source: cluster ? anyNodeSource(cluster) : noNodes },
    claim: {
      object: 'PersistentVolumeClaim',
      reason: 'SourceNotUsable',
      source: wakeOn(claims, wakesOnClaim(settings)),
    },
    snapshot: { object: 'VolumeSnapshot', reason: 'SourceNotUsable', source: awaited.snapshot },
    snapshotContent: {
      object: 'VolumeSnapshotContent',
      reason: 'SourceNotUsable',
      source: awaited.snapshotContent,
    },
    secret: { object: 'Secret', reason: 'SecretNotFound', source: awaited.secret },
    attributesClass: {
      object: 'VolumeAttributesClass',
      reason: 'VolumeAttributesClassNotUsable',
      source: awaited.attributesClass,
    },
  }
}

function topologyNodes({ settings, topology }: TermParts): TopologyNodes | undefined {
  if (settings.node !== undefined) return topologyOfNode(settings.node)
  const { nodes, registrations } = topology ?? {}
  return nodes && registrations && { nodes: nodes.store, registrations: registrations.store }
}
