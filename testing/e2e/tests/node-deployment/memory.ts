import { ok } from 'node:assert'
import { inParallel } from '@csi-sidecars/base'
import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES } from '@csi-sidecars/kube-types'
import { claim, volume } from '../../harness/api/objects.ts'
import { userWith } from '../../harness/api/user.ts'
import type { TestContext } from '../../harness/context.ts'
import { residentMiB } from '../../harness/process/memory.ts'
import { testsOf } from '../../harness/test.ts'
import { pause } from '../../harness/waiting.ts'
import { createNode, nodeDriver, onNodes, RULES, register, startResizer } from './scene.ts'

const test = testsOf('resizer', 'node deployment, memory', { only: 'ours' })

const FOREIGN = 10_000
const AT_A_TIME = 16
/** The garbage of a start is released by then. */
const SETTLED_MS = 15_000

test('10,000 volumes of another node and their claims cost less than 10 %', {
  long: true,
  alone: true,
  within: 300_000,
}, async (t) => {
  const [node, other] = [t.name('a'), t.name('b')]
  await createNode(t, node)
  await register(t, node)
  await t.createClass()
  const setup = { driver: await nodeDriver(t), user: await userWith(t, RULES) }
  const settled = async (): Promise<number> => {
    const resizer = await startResizer(t, node, setup)
    await t.watching(resizer, 'persistentvolumeclaims', 'persistentvolumes')
    await pause(SETTLED_MS)
    const memory = residentMiB(resizer.pid)
    await resizer.endBy('SIGTERM')
    return memory
  }
  const without = await settled()
  try {
    await createForeign(t, other)
    const beside = await settled()
    ok(beside < without * 1.1, `${beside} MiB, and ${without} MiB without`)
  } finally {
    const selected = `?labelSelector=${encodeURIComponent(`test=${t.id}`)}`
    await t.api.call('DELETE', `/api/v1/persistentvolumes${selected}`)
    await t.api.call('DELETE', `/api/v1/namespaces/${t.namespace}/persistentvolumeclaims${selected}`)
  }
})

async function createForeign(t: TestContext, node: string): Promise<void> {
  const metadata = { labels: { test: t.id } }
  const storageClassName = t.name('class')
  await inParallel(AT_A_TIME, Array(FOREIGN).keys(), async (index) => {
    const name = t.name(`foreign-${index}`)
    const wanted = claim(t.namespace, name, { metadata, storageClassName, volumeName: name })
    const { uid } = (await t.api.create(PERSISTENT_VOLUME_CLAIMS, wanted)).metadata ?? {}
    const claimRef = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace: t.namespace, name, uid }
    const parts = { metadata, storageClassName, claimRef, nodeAffinity: onNodes(t, node) }
    await t.api.create(PERSISTENT_VOLUMES, volume(name, t.driverName, parts))
  })
}
