import { deepStrictEqual as equal, ok } from 'node:assert'
import { CLUSTER_ROLES } from '@csi-sidecars/kube-types'
import { userWith } from '../../harness/api/user.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, pause } from '../../harness/waiting.ts'
import { ask, resized } from '../resizer/scene.ts'
import { boundOn, createNode, nodeDriver, onNodes, RULES, register, startResizer } from './scene.ts'

const test = testsOf('resizer', 'node deployment, start', { only: 'ours' })

for (const [plural, group] of [
  ['nodes', ''],
  ['csinodes', 'storage.k8s.io'],
] as const) {
  test(`without the right to watch ${plural} it logs the rule, and works once the role has the rule`, async (t) => {
    const node = t.name('a')
    await createNode(t, node)
    await register(t, node)
    const user = await userWith(
      t,
      RULES.filter(({ resources }) => !resources.includes(plural)),
    )
    const resizer = await startResizer(t, node, { driver: await nodeDriver(t), user })
    const line = await resizer.line('A permission is missing')
    const rule = `${plural}${group && `.${group}`}: get, list, watch`
    ok(line.endsWith(` rule="${rule}"`), line)
    await t.api.merge(CLUSTER_ROLES, { name: t.name('role') }, { rules: RULES })
    await eventually('readiness', async () => (await resizer.http('/readyz')).code === 200, { within: 40_000 })
    equal(resizer.lines.filter((each) => each.startsWith('E')).length, 1)
  })
}

test('without a Node of that name it waits with one line', async (t) => {
  const node = t.name('nowhere')
  const resizer = await startResizer(t, node, { driver: await nodeDriver(t), user: await userWith(t, RULES) })
  const line = await resizer.line('Waiting for the node of this process')
  ok(line.endsWith('missing="the Node"'), line)
  equal(resizer.exit, undefined)
})

test('it waits for the driver in the CSINode with one line, and then works', async (t) => {
  await t.createClass()
  const node = t.name('a')
  await createNode(t, node)
  const driver = await nodeDriver(t)
  const resizer = await startResizer(t, node, { driver, user: await userWith(t, RULES) })
  await resizer.line('Waiting for the node of this process')
  await boundOn(t, onNodes(t, node))
  await ask(t, '2Gi')
  await pause(1_000)
  equal(driver.callsOf('ControllerExpandVolume'), [])
  equal((await resizer.http('/readyz')).code, 503)
  equal((await resizer.http('/livez')).code, 200)
  await register(t, node)
  await resized(t, '2Gi')
  equal((await resizer.http('/readyz')).code, 200)
  equal(resizer.linesWith('Waiting for the node of this process').length, 1)
})

test('it ends within a second while it waits for the CSINode', async (t) => {
  const node = t.name('a')
  await createNode(t, node)
  const resizer = await startResizer(t, node, { driver: await nodeDriver(t), user: await userWith(t, RULES) })
  await resizer.line('Waiting for the node of this process')
  equal((await resizer.endBy('SIGTERM', 1_500)).code, 0)
})

test('--node-name comes before NODE_NAME', async (t) => {
  const node = t.name('a')
  await createNode(t, node)
  await register(t, node)
  const setup = { driver: await nodeDriver(t), user: await userWith(t, RULES), args: [`--node-name=${node}`] }
  const resizer = await startResizer(t, 'another', setup)
  await eventually('readiness', async () => (await resizer.http('/readyz')).code === 200)
})

test('contradictions are refused with 2, and the last line says why', async (t) => {
  const cases: readonly (readonly [args: readonly string[], env: NodeJS.ProcessEnv, error: string])[] = [
    [['--node-deployment'], {}, 'flag -node-deployment needs -node-name or the environment variable NODE_NAME'],
    [
      ['--node-deployment', '--leader-election'],
      { NODE_NAME: 'a' },
      'flag -node-deployment excludes -leader-election: every node works for itself',
    ],
    [['--node-name=a'], {}, 'flag -node-name has no effect without -node-deployment'],
  ]
  for (const [args, env, error] of cases) {
    const { code, lines } = await t.exec(args, { env })
    equal([code, lines.at(-1)], [2, error])
  }
  const both = await t.exec(['--node-deployment'], { env: { NODE_NAME: 'a' }, app: 'both' })
  const why = 'flag -node-deployment is not for the attacher, which needs a leader: use --controllers=resizer'
  equal([both.code, both.lines.at(-1)], [2, why])
})
