import { CSI_NODES, STORAGE_CLASSES } from '@csi-sidecars/kube-types'
import { csiNode, storageClass } from '../harness/api/objects.ts'
import type { RunningSidecar, SidecarSetup, TestContext } from '../harness/context.ts'
import type { Capabilities, Driver } from '../harness/driver/driver.ts'
import { requiredBytes } from '../tests/resizer/scene.ts'

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
  driver.on('ControllerExpandVolume', ({ request }) => ({
    reply: { capacityBytes: BigInt(requiredBytes(request)), nodeExpansionRequired: false },
  }))
  const node = await surroundings(t)
  return { sidecar: await t.sidecar({ ...setup, driver }), driver, node }
}

/** The objects that either sidecar needs. */
export async function surroundings(t: TestContext): Promise<string> {
  const node = t.name('node')
  await t.create(CSI_NODES, csiNode(node, { [t.driverName]: `${node}-id` }))
  await t.create(STORAGE_CLASSES, storageClass(t.name('class'), t.driverName))
  return node
}
