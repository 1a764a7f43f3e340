import type { Clock } from '@csi-sidecars/base'
import type { Driver } from '@csi-sidecars/csi'
import { createRecorder } from '@csi-sidecars/events'
import { runAttachDetachController } from '../attach-detach/controller.ts'
import { runBinder, SCHEDULER } from '../binder/controller.ts'
import type { ControllerParts, Life } from '../control.ts'
import { runEphemeralVolumeController } from '../ephemeral/controller.ts'
import { runExpander } from '../expander/controller.ts'
import { runPersistentVolumeController } from '../persistent-volume/controller.ts'
import { runProvisioner } from '../provisioner/controller.ts'
import { type NodeOptions, runVolumeManagers } from '../volume-manager/controller.ts'
import { Controllers } from './controllers.ts'

/** The parts of Kubernetes that this process can play; a real cluster may bring some of them itself. */
export const CONTROLLERS = [
  'persistent-volume',
  'provisioner',
  'binder',
  'attach-detach',
  'volume-manager',
  'ephemeral-volume',
  'expander',
] as const
export type ControllerName = (typeof CONTROLLERS)[number]

/** From these minor versions on claims tell whether pods use them, and pods wait for a detach instead of failing. */
const UNUSED_SINCE = 37
const WAITING_SINCE = 37

export interface ControllersOptions {
  /** Without it all. */
  readonly controllers?: readonly ControllerName[] | undefined
  readonly nodes: readonly NodeOptions[]
  readonly resyncMs?: number | undefined
  /** The minor version of the Kubernetes whose controllers are played. */
  readonly minor: number
  readonly clock: Clock
}

type AllParts = ControllerParts & { readonly driver: Driver }

/** Starts the controllers that are wanted, each with events in the name of the component that it plays. */
export function startControllers(
  parts: Omit<AllParts, 'recorder'>,
  { nodes, clock, resyncMs, minor, controllers: wanted = CONTROLLERS }: ControllersOptions,
  onTrouble: (message: string) => void,
): Controllers {
  const { client, log } = parts
  const as = (component: string): AllParts => ({
    ...parts,
    recorder: createRecorder({ client, component, clock, log }),
  })
  const controllers = new Controllers(clock, (name, error) => onTrouble(`${name} ended: ${error.message}`))
  const runs: Record<ControllerName, (life: Life) => Promise<void>> = {
    'persistent-volume': startable(as('persistentvolume-controller'), (pv, life) =>
      runPersistentVolumeController(pv, life, { resyncMs, tellsUnused: minor >= UNUSED_SINCE }),
    ),
    provisioner: startable(as(parts.driver.name), runProvisioner),
    binder: startable(as(SCHEDULER), runBinder),
    'attach-detach': startable(as('attachdetach-controller'), (parts, life) =>
      runAttachDetachController(parts, life, { saysWaiting: minor >= WAITING_SINCE }),
    ),
    'ephemeral-volume': startable(as('ephemeral_volume'), runEphemeralVolumeController),
    expander: startable(as('volume_expand'), runExpander),
    'volume-manager': startable(as('kubelet'), (kubelet, life) => runVolumeManagers(kubelet, nodes, life)),
  }
  for (const name of wanted) controllers.start(name, runs[name])
  return controllers
}

function startable<P>(parts: P, run: (parts: P, life: Life) => Promise<void>): (life: Life) => Promise<void> {
  return (life) => run(parts, life)
}
