import { VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import type { TestContext } from '../../harness/context.ts'
import { pause } from '../../harness/waiting.ts'
import { type AttacherScene, type AttacherSceneSetup, attach, attached, scene } from './scene.ts'

type Attached = AttacherScene & { readonly va: string; readonly pv: string; readonly mark: number }

/** An attached volume; `mark` is how many writes it took. */
export async function attachedScene(
  t: TestContext,
  setup: AttacherSceneSetup & { pv?: object; va?: object } = {},
): Promise<Attached> {
  const { pv, va, ...rest } = setup
  const at = await scene(t, rest)
  const names = await attach(t, at, { ...(pv === undefined ? {} : { pv }), ...(va === undefined ? {} : { va }) })
  await attached(t)
  if (!t.ours) await pause(500)
  return { ...at, ...names, mark: at.attacher.gate.writes().length }
}

export const unpublishes = ({ driver }: AttacherScene) => driver.callsOf('ControllerUnpublishVolume')
export const detachFailed = (t: TestContext, text = '') =>
  t.api.until(VOLUME_ATTACHMENTS, { name: t.name('va') }, ({ status }) => status?.detachError?.message?.includes(text))
