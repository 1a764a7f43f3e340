import type { Clock } from '@csi-sidecars/base'
import type { Controller } from '@csi-sidecars/controller'
import type { Driver } from '@csi-sidecars/csi'
import { createRecorder } from '@csi-sidecars/events'
import {
  attachDetachController,
  binder,
  type ControllerParts,
  ephemeralVolumeControllers,
  expander,
  type NodeOptions,
  persistentVolumeControllers,
  SCHEDULER,
  snapshotControllers,
  volumeManagers,
} from '@csi-sidecars/volume-controllers'
import { Controllers } from './controllers.ts'

/** The controllers of Kubernetes that this process can run. A real cluster may run some of them itself. */
export const CONTROLLERS = [
  'persistent-volume',
  'binder',
  'attach-detach',
  'volume-manager',
  'ephemeral-volume',
  'expander',
  'snapshot-controller',
] as const
export type ControllerName = (typeof CONTROLLERS)[number]

/** The minor version of Kubernetes since which claims report whether pods use them. */
const UNUSED_SINCE = 37
/** The minor version since which the event for an occupied volume is "Waiting for detach", not "Multi-Attach error". */
const WAITING_SINCE = 37
/** The minor version since which the volumes of a deleted Node are detached at once. */
const RELEASING_SINCE = 38
/** The minor version since which a starting controller deletes unused attachments of drivers without attach. */
const DETACHING_WITHOUT_NEED_SINCE = 38

/** The controllers to start, and the Kubernetes that they copy. */
export interface ControllersOptions {
  /** The controllers to start. Undefined: all. */
  readonly controllers?: readonly ControllerName[] | undefined
  readonly nodes: readonly NodeOptions[]
  /** The resync period of the PV controller. Default: 15 seconds. */
  readonly resyncMs?: number | undefined
  /** The minor version of Kubernetes whose behaviour the controllers copy. */
  readonly minor: number
  readonly clock: Clock
}

type AllParts = ControllerParts & { readonly driver: Driver }

/** Starts the requested controllers. Their events name the Kubernetes component that each controller replaces. */
export function startControllers(
  deps: Omit<AllParts, 'recorder'>,
  { nodes, clock, resyncMs, minor, controllers: requested = CONTROLLERS }: ControllersOptions,
  onTrouble: (message: string) => void,
): Controllers {
  const { client, log } = deps
  const as = (component: string): AllParts => ({
    ...deps,
    recorder: createRecorder({ client, component, clock, log }),
  })
  const controllers = new Controllers(clock, (name, error) => onTrouble(`${name} ended: ${error.message}`))
  const pv = as('persistentvolume-controller')
  const attachDetach = as('attachdetach-controller')
  const ephemeral = as('ephemeral_volume')
  const scheduler = as(SCHEDULER)
  const expansion = as('volume_expand')
  const kubelet = as('kubelet')
  const snapshot = as('snapshot-controller')
  const components: Record<ControllerName, () => readonly Controller[]> = {
    'persistent-volume': () => persistentVolumeControllers(pv, { resyncMs, recordsUnused: minor >= UNUSED_SINCE }),
    binder: () => [binder(scheduler)],
    'attach-detach': () => [
      attachDetachController(attachDetach, {
        waitingMessage: minor >= WAITING_SINCE,
        deletedNodeReleasesVolumes: minor >= RELEASING_SINCE,
        detachesWithoutNeed: minor >= DETACHING_WITHOUT_NEED_SINCE,
      }),
    ],
    'ephemeral-volume': () => ephemeralVolumeControllers(ephemeral),
    expander: () => [expander(expansion)],
    'snapshot-controller': () => snapshotControllers(snapshot),
    'volume-manager': () => volumeManagers(kubelet, nodes),
  }
  for (const name of requested) controllers.start(name, components[name])
  return controllers
}
