import type { Clock } from '@csi-sidecars/base'
import { type Backlog, type Controller, causesOf, type Source } from '@csi-sidecars/controller'
import type { Driver } from '@csi-sidecars/csi'
import type { Recorder } from '@csi-sidecars/events'
import type { KubeClient } from '@csi-sidecars/kube-client'
import { type Logger, objectRef } from '@csi-sidecars/telemetry'
import type { FifoOrder } from '@csi-sidecars/workqueue'
import { claimRef } from './caches/claim.ts'
import type { Informers } from './caches/open.ts'
import type { ResizerClaimDeps } from './claim/run.ts'

export interface ResizerSettings {
  readonly driverName: string
  readonly workers: number
  readonly retryStartMs: number
  readonly retryMaxMs: number
  /** Limits of one expansion and of one modification. */
  readonly resizeTimeoutMs: number
  readonly modifyTimeoutMs: number
  readonly handleInUse: boolean
  readonly annotateFsResize: boolean
  readonly extraMetadata: boolean
  /** --node-deployment: volumes that are not in the cache are another instance's. */
  readonly nodeDeployment: boolean
}

export interface ResizerParts extends Informers {
  readonly settings: ResizerSettings
  /** Who expands volumes; undefined: no volume is expanded. */
  readonly expands: 'driver' | 'node' | undefined
  readonly client: KubeClient
  readonly driver: Driver
  readonly recorder: Recorder
  /** The pending work of this process. */
  readonly backlog: Backlog
  readonly clock: Clock
  readonly log: Logger
}

/** The parts of the controllers in one term of leadership. Writes and calls need the lead. */
export interface ResizerTerm extends ResizerParts {
  readonly assertLeading: () => void
  /** The dependencies of both controllers. */
  readonly common: Omit<ResizerClaimDeps, 'notifyCallStarted'>
  /**
   * The queue orders of both controllers. Each controller moves the claim that it starts to the front of the other
   * order. So both parts of one edit run together even if thousands of claims wait.
   */
  readonly orders: { readonly resize: FifoOrder; readonly modify: FifoOrder }
}

/** The name of both queues, so that metrics add up in one series. */
export function queueName(driverName: string): string {
  return `${driverName}-pvc`
}

/** The common options of both claim controllers. */
export function claimController(
  { settings, log }: ResizerTerm,
  order: FifoOrder,
): Pick<Controller, 'name' | 'workers' | 'order' | 'backoff' | 'onFailure' | 'onEnd'> {
  const { driverName, retryStartMs, retryMaxMs } = settings
  return {
    name: queueName(driverName),
    workers: order.capacity,
    order,
    backoff: { baseMs: retryStartMs, maxMs: retryMaxMs },
    onFailure: (key, cause) => log.error(cause, 'Error syncing PVC', { PVC: objectRef(claimRef({ key })) }),
    onEnd: () => log.info('Shutting down external resizer', { controller: driverName }),
  }
}

/** A claim may wait for a volume that appears or changes. */
export function causesOfVolumes({ volumes }: Pick<Informers, 'volumes'>): Source {
  return causesOf(volumes, (event) => {
    if (event.type === 'deleted') return []
    const { key: name } = event.type === 'added' ? event.object : event.after
    return [{ on: 'volume', name }]
  })
}
