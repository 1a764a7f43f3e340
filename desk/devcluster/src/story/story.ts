import { ControllerServiceCapability_RPC_Type as ControllerRpc } from '@csi-sidecars/csi-proto'
import type { StoryStep } from './run-steps.ts'
import {
  cleared,
  copied,
  expanded,
  lastStep,
  modifyStep,
  moveStep,
  provisionStep,
  removeStep,
  type StoryParts,
  snapshotTaken,
  useStep,
} from './steps.ts'

/** The names of the pods that the demo creates. */
export const STORY_PODS = ['app-1', 'app-2'] as const

/** A step of the demo that is left out, because the driver or a single node cannot do it. */
export interface LeftOut {
  readonly title: string
  readonly why: string
}

/** The nodes and the options that decide the steps of the demo. */
export interface StoryOptions {
  readonly nodes: readonly string[]
  /** True if a claim and its pod stay after the last step. */
  readonly leavesPod: boolean
}

/** Returns the steps of the demo, which show the life of a volume as far as the driver and the nodes support it. */
export function storyOf(
  scene: StoryParts,
  { nodes, leavesPod }: StoryOptions,
): { readonly steps: readonly StoryStep[]; readonly leftOut: readonly LeftOut[] } {
  const steps: StoryStep[] = []
  const leftOut: LeftOut[] = []
  const add = (step: StoryStep, unless: string | undefined): void => {
    if (unless === undefined) steps.push(step)
    else leftOut.push({ title: step.title, why: unless })
  }
  const [first = '', second] = nodes
  const before = { pod: STORY_PODS[0], node: first }
  const next = { pod: STORY_PODS[1], node: second ?? 'another node' }
  const after = second === undefined ? before : next
  const lacks = (capability: ControllerRpc, text: string): string | undefined =>
    scene.driver.capabilities.controller.has(capability) ? undefined : text
  add(provisionStep(scene), undefined)
  add(useStep(scene, before), undefined)
  add(expanded(scene, before), lacks(ControllerRpc.EXPAND_VOLUME, 'the driver does not expand volumes'))
  const noSnapshots =
    lacks(ControllerRpc.CREATE_DELETE_SNAPSHOT, 'the driver takes no snapshots') ??
    (scene.caches.snapshotCaches === undefined ? 'the API server has no VolumeSnapshots' : undefined)
  const noClones = lacks(ControllerRpc.CLONE_VOLUME, 'the driver does not clone volumes')
  const copies = [...(noSnapshots ? [] : ['restored' as const]), ...(noClones ? [] : ['clone' as const])]
  add(snapshotTaken(scene), noSnapshots)
  add(copied(scene, 'restored'), noSnapshots)
  add(copied(scene, 'clone'), noClones)
  if (copies.length > 0) add(cleared(scene, { copies, snapshot: noSnapshots === undefined }), undefined)
  add(modifyStep(scene), lacks(ControllerRpc.MODIFY_VOLUME, 'the driver does not modify volumes'))
  add(moveStep(scene, before, next), second === undefined ? 'there is one node only' : undefined)
  add(removeStep(scene, after), undefined)
  if (leavesPod) add(lastStep(scene, before), undefined)
  return { steps, leftOut }
}
