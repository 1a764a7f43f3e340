import type { TestContext } from '../../harness/context.ts'
import { pause } from '../../harness/waiting.ts'
import { type AttacherScene, type AttacherSceneSetup, attachAndWait, scene, untilAttachment } from './scene.ts'

type Attached = AttacherScene & { readonly va: string; readonly pv: string; readonly mark: number }

/** An attached volume; `mark` is how many writes it took. */
export async function attachedScene(
  t: TestContext,
  { pv = {}, va = {}, ...setup }: AttacherSceneSetup & { pv?: object; va?: object } = {},
): Promise<Attached> {
  const at = await scene(t, setup)
  const names = await attachAndWait(t, at, { pv, va })
  if (!t.ours) await pause(500)
  return { ...at, ...names, mark: at.attacher.gate.writes().length }
}

export const detachFailed = (t: TestContext, text = '') =>
  untilAttachment(t, ({ status }) => status?.detachError?.message?.includes(text))
