import { deepStrictEqual as equal } from 'node:assert'
import { PERSISTENT_VOLUME_CLAIMS } from '@csi-sidecars/kube-types'
import { testsOf } from '../../harness/test.ts'
import { modified, modifying, want } from '../resizer/modify-scene.ts'
import { ask, bound, resized, scene } from '../resizer/scene.ts'
import { exportTo, namesOf, TRACING, traceOf, traceparentOf, withCollector } from './traces-scene.ts'

const test = testsOf('resizer', 'traces')
/** The originals have no tracing. */
const OURS = { only: 'ours' } as const
const EXPAND = 'csi.v1.Controller/ControllerExpandVolume'
const MODIFY = 'csi.v1.Controller/ControllerModifyVolume'

test('an expansion is one trace, a part of the one that the claim names', OURS, (t) =>
  withCollector(async (collector) => {
    const { driver } = await scene(t, { args: [TRACING], env: exportTo(collector.url) })
    await bound(t)
    const parent = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' }
    await t.api.merge(
      PERSISTENT_VOLUME_CLAIMS,
      { namespace: 'default', name: t.name('pvc') },
      { metadata: { annotations: { traceparent: traceparentOf(parent) } } },
    )
    await ask(t, '2Gi')
    await resized(t, '2Gi')
    const { root, parts } = await traceOf(collector, 'expand', EXPAND)
    equal([root.traceId, root.parentSpanId], [parent.traceId, parent.spanId])
    const call = parts.find(({ name }) => name === EXPAND)
    equal(
      namesOf(parts).filter((name) => name !== 'POST events'),
      [
        'wait in queue',
        'PATCH persistentvolumeclaims/status',
        EXPAND,
        'PATCH persistentvolumes',
        'PATCH persistentvolumeclaims/status',
      ],
    )
    equal(driver.callsOf('ControllerExpandVolume')[0]?.metadata['traceparent'], call && traceparentOf(call))
  }),
)

test('a modification is one trace', OURS, (t) =>
  withCollector(async (collector) => {
    const { driver } = await modifying(t, { args: [TRACING], env: exportTo(collector.url) })
    await want(t, t.name('gold'))
    await modified(t, t.name('gold'))
    const { root, parts } = await traceOf(collector, 'modify', MODIFY)
    const call = parts.find(({ name }) => name === MODIFY)
    equal(driver.callsOf('ControllerModifyVolume')[0]?.metadata['traceparent'], call && traceparentOf(call))
    equal(root.attributes['k8s.persistentvolumeclaim.name'], t.name('pvc'))
  }),
)
