import { deepStrictEqual as equal } from 'node:assert'
import type { RunningSidecar } from '../../harness/context.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { kubeletFinishes, NODE_STEP, raised, scene } from './scene.ts'

const test = testsOf('resizer', 'pending work')

type Item = Readonly<Record<string, unknown>>

function pending(resizer: RunningSidecar, wanted: (items: readonly Item[]) => boolean): Promise<readonly Item[]> {
  return eventually('the pending work', async () => {
    const { items } = JSON.parse((await resizer.http('/debug/stuck')).text) as { items: readonly Item[] }
    return wanted(items) && items
  })
}

test('an expansion is visible from the request to the end on the node', { only: 'ours' }, async (t) => {
  const at = await scene(t, {
    args: ['--retry-interval-start=500ms', '--retry-interval-max=1s'],
    prepare: (driver) => driver.on('ControllerExpandVolume', { code: 14, message: 'no back end' }),
  })
  const { pvc, pv } = await raised(t)
  const [failing] = await pending(at.resizer, ([item]) => item?.['state'] === 'backoff')
  const { sidecar, operation, volume, reason, code, object } = failing ?? {}
  equal(
    { sidecar, operation, volume, reason, code },
    { sidecar: 'external-resizer', operation: 'expand', volume: pv, reason: 'Unavailable', code: 'Unavailable' },
  )
  const { uid: _, ...claim } = object as Item
  equal(claim, { kind: 'PersistentVolumeClaim', namespace: t.namespace, name: pvc })

  at.driver.on('ControllerExpandVolume', NODE_STEP)
  const [node] = await pending(at.resizer, ([item]) => item?.['operation'] === 'node-expand')
  equal([node?.['reason'], node?.['stuck'], node?.['volume']], ['NodeResizePending', false, pv])

  await kubeletFinishes(t, '2Gi')
  await pending(at.resizer, (items) => items.length === 0)
  const metrics = await at.resizer.metrics()
  for (const done of ['expand', 'node-expand']) {
    equal(metrics.value('csi_sidecar_work_duration_seconds_count', { operation: done }), 1)
  }
})
