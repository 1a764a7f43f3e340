import { type Controller, causesOf, KeyFeed, keysOf, objectOf } from '@csi-sidecars/controller'
import { FifoOrder, reservedFor } from '@csi-sidecars/workqueue'
import { backoffOf, type TermParts } from '../parts.ts'
import { causesOfTopology } from '../topology/triggers.ts'
import { driverCalls } from './driver-calls.ts'
import { ClaimMemory } from './memory.ts'
import { claimTable } from './pending.ts'
import { reconcileClaim } from './reconcile.ts'
import type { ClaimDeps } from './run.ts'
import { claimTrigger, endsOf } from './triggers.ts'
import { storeController } from './unsaved.ts'

/** Creates volumes for claims, and stores their PersistentVolumes. */
export function claimControllers(parts: TermParts): readonly Controller[] {
  const { settings, caches, clock, log } = parts
  const { claims, volumes, classes, topology } = caches
  const memory = new ClaimMemory(clock, settings.retryMaxMs)
  const unsaved = new KeyFeed()
  const again = new KeyFeed()
  const deps: ClaimDeps = {
    ...parts,
    claims,
    volumes,
    classes,
    topology,
    memory,
    driver: driverCalls(parts),
    storeLater: (name) => unsaved.add(name),
  }
  const order = new FifoOrder({ workers: settings.workers, reserved: reservedFor(settings.workers) })
  const claimController: Controller = {
    name: 'claims',
    workers: order.capacity,
    order,
    backoff: backoffOf(settings),
    onStart: () => log.info('Started provisioner controller', { component: settings.identity }),
    caches: [claims, volumes, classes, ...(topology === undefined ? [] : [topology.nodes, topology.registrations])],
    sources: [
      endsOf(claims, memory),
      again.source,
      keysOf(claims, claimTrigger(settings, memory)),
      causesOf(classes, (event) => [{ on: 'class', name: objectOf(event).key }]),
      ...(topology === undefined ? [] : causesOfTopology(topology)),
      causesOf(volumes, (event) => [{ on: 'volume', name: objectOf(event).key }]),
    ],
    reconcile: (uid, run) => reconcileClaim(uid, deps, run),
    pending: claimTable(deps),
    callsDriver: true,
    onDriverReturn: () => memory.onDriverReturn(),
  }
  return [claimController, storeController(deps, { source: unsaved.source, claimAgain: (uid) => again.add(uid) })]
}
