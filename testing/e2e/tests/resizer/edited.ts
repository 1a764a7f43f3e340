import { deepStrictEqual as equal } from 'node:assert'
import { PERSISTENT_VOLUMES } from '@csi-sidecars/kube-types'
import { testsOf } from '../../harness/test.ts'
import { ask, getVolume, grown, resized, scene, sizesOf } from './scene.ts'

const test = testsOf('resizer', 'edited', { only: 'ours' })

test('a claim reaches its request although its PersistentVolume was edited to a larger size', async (t) => {
  const at = await scene(t)
  const { pv } = await grown(t, { to: '3Gi' })
  await t.api.merge(PERSISTENT_VOLUMES, { name: pv }, { spec: { capacity: { storage: '9Gi' } } })
  await ask(t, '5Gi')
  await resized(t, '5Gi')
  equal(sizesOf(at), [3, 5])
  equal((await getVolume(t)).spec?.capacity, { storage: '5Gi' })
})
