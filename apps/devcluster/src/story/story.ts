import type { Driver } from '@csi-sidecars/csi'
import { ControllerServiceCapability_RPC_Type as ControllerRpc } from '@csi-sidecars/csi-proto'
import { expanded, modified, moved, provisioned, removed, used } from './chapters.ts'
import type { StoryParts } from './parts.ts'
import type { Chapter } from './play.ts'

/** The pods that the story makes. */
export const PODS_OF_STORY = ['app-1', 'app-2'] as const

/** A chapter that the driver, or a single node, cannot have. */
export interface LeftOut {
  readonly title: string
  readonly why: string
}

/** A volume's whole life, as far as this driver and these nodes can show it. */
export function storyOf(
  scene: StoryParts,
  nodes: readonly string[],
): { readonly chapters: readonly Chapter[]; readonly leftOut: readonly LeftOut[] } {
  const chapters: Chapter[] = []
  const leftOut: LeftOut[] = []
  const add = (chapter: Chapter, unless: string | undefined): void => {
    if (unless === undefined) chapters.push(chapter)
    else leftOut.push({ title: chapter.title, why: unless })
  }
  const [first = '', second] = nodes
  const before = { pod: PODS_OF_STORY[0], node: first }
  const next = { pod: PODS_OF_STORY[1], node: second ?? 'another node' }
  const after = second === undefined ? before : next
  const lacks = (what: ControllerRpc, text: string): string | undefined => (can(scene.driver, what) ? undefined : text)
  add(provisioned(scene), undefined)
  add(used(scene, before), undefined)
  add(expanded(scene, before), lacks(ControllerRpc.EXPAND_VOLUME, 'the driver does not expand volumes'))
  add(modified(scene), lacks(ControllerRpc.MODIFY_VOLUME, 'the driver does not modify volumes'))
  add(moved(scene, before, next), second === undefined ? 'there is one node only' : undefined)
  add(removed(scene, after), undefined)
  return { chapters, leftOut }
}

function can({ capabilities }: Driver, what: ControllerRpc): boolean {
  return capabilities.controller.has(what)
}
