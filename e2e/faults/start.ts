import type { RunningSidecar, SidecarSetup, TestContext } from '../harness/context.ts'
import type { Capabilities, Driver } from '../harness/driver/driver.ts'
import { surroundings } from '../tests/resilience/one-process-scene.ts'
import { expandedReply } from '../tests/resizer/scene.ts'

export interface StartedScene {
  readonly sidecar: RunningSidecar
  readonly driver: Driver
  readonly node: string
}

/** Creates node, class, driver and sidecar without waiting: the fault may already apply. */
export async function startedScene(
  t: TestContext,
  { controller = [], ...setup }: SidecarSetup & { readonly controller?: Capabilities['controller'] },
): Promise<StartedScene> {
  const driver = setup.driver ?? (await t.driver({ controller }))
  driver.on('ControllerExpandVolume', (call) => expandedReply(call))
  const node = await surroundings(t)
  return { sidecar: await t.sidecar({ ...setup, driver }), driver, node }
}
