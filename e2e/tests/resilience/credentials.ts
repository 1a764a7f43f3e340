import { deepStrictEqual as equal, ok } from 'node:assert'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CLUSTER_ROLES, type PolicyRule, SECRETS, VOLUME_ATTRIBUTES_CLASSES } from '@csi-sidecars/kube-types'
import { FACTS } from '@csi-sidecars/sidecars/facts'
import { refusal } from '../../harness/api/gate.ts'
import { attributesClass, secret } from '../../harness/api/objects.ts'
import { userWith } from '../../harness/api/user.ts'
import type { RunningSidecar, TestContext } from '../../harness/context.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, pause } from '../../harness/waiting.ts'
import { attach, attached, scene as attacherScene, attachFailed } from '../attacher/scene.ts'
import { ask, bound, resized, scene as resizerScene, untilClaim, untilEvent } from '../resizer/scene.ts'

/** The permissions that the chart of every driver grants. */
const LEAST_LEASE_VERBS = ['get', 'create', 'update']

function without(t: TestContext, resource: string): readonly PolicyRule[] {
  return FACTS[t.app].rules.filter(({ resources }) => !resources?.includes(resource))
}

for (const app of ['attacher', 'resizer'] as const) {
  const test = testsOf(app, 'permissions')

  test('the minimal permissions of charts are enough, with leader election', async (t) => {
    const rules = FACTS[app].rules.map((rule) =>
      rule.resources?.includes('leases') === true ? { ...rule, verbs: LEAST_LEASE_VERBS } : rule,
    )
    const user = await userWith(t, rules)
    const args = ['--leader-election']
    if (app === 'attacher') {
      const at = await attacherScene(t, { user, args })
      await attach(t, at)
      await attached(t)
    } else {
      await resizerScene(t, { user, args })
      await bound(t)
      await ask(t, '2Gi')
      await resized(t, '2Gi')
    }
  })
}

const attacher = testsOf('attacher', 'permissions')
const resizer = testsOf('resizer', 'permissions')

for (const resource of ['persistentvolumes', 'volumeattachments', 'csinodes']) {
  attacher(`without ${resource}: the log says what is missing, the process keeps running, and recovers`, async (t) => {
    const driver = await t.driver({ controller: ['PUBLISH_UNPUBLISH_VOLUME'] })
    const user = await userWith(t, without(t, resource))
    const sidecar = await t.sidecar({ driver, user })
    await logs(
      sidecar,
      `User "${user.name}" cannot list resource "${resource}"`,
      `User "${user.name}" cannot watch resource "${resource}"`,
    )
    await pause(500)
    equal(sidecar.exit, undefined)
    await t.api.merge(CLUSTER_ROLES, { name: t.name('role') }, { rules: FACTS.attacher.rules })
    await t.watching(sidecar, resource)
  })
}

async function logs(sidecar: RunningSidecar, ...texts: readonly string[]): Promise<void> {
  const escaped = texts.map((text) => text.replaceAll('"', '\\"'))
  await eventually(`a line with ${texts.join(' or ')}`, () =>
    sidecar.lines.find((line) => escaped.some((text) => line.includes(text))),
  )
}

attacher('without secrets: the attach error says what is missing', async (t) => {
  const name = t.name('secret')
  await t.create(SECRETS, secret('default', name, { a: 'b' }))
  const user = await userWith(t, without(t, 'secrets'))
  const at = await attacherScene(t, { user })
  await attach(t, at, { pv: { csi: { controllerPublishSecretRef: { name, namespace: 'default' } } } })
  const { status } = await attachFailed(t)
  const text = `failed to load secret "default/${name}": secrets "${name}" is forbidden: User "${user.name}" cannot get resource "secrets" in API group "" in the namespace "default"`
  equal(status?.attachError?.message, text)
})

attacher('without volumeattachments/status: the log says what is missing, recovers with the permission', async (t) => {
  const user = await userWith(t, without(t, 'volumeattachments/status'))
  const at = await attacherScene(t, { user, args: ['--retry-interval-start=300ms', '--retry-interval-max=1s'] })
  await attach(t, at)
  await logs(at.attacher, `User "${user.name}" cannot patch resource "volumeattachments/status"`)
  await t.api.merge(CLUSTER_ROLES, { name: t.name('role') }, { rules: FACTS.attacher.rules })
  await attached(t)
})

attacher('without leases: the log says what is missing, recovers with the permission', async (t) => {
  const user = await userWith(t, without(t, 'leases'))
  const driver = await t.driver({ controller: ['PUBLISH_UNPUBLISH_VOLUME'] })
  const sidecar = await t.sidecar({ driver, user, args: ['--leader-election', '--leader-election-retry-period=1s'] })
  await logs(sidecar, `User "${user.name}" cannot get resource "leases"`)
  equal(sidecar.exit, undefined)
  await t.api.merge(CLUSTER_ROLES, { name: t.name('role') }, { rules: FACTS.attacher.rules })
  await sidecar.line('became leader, starting')
})

for (const resource of ['persistentvolumes', 'persistentvolumeclaims', 'volumeattributesclasses']) {
  resizer(`without ${resource}: the log says what is missing, the process keeps running, and recovers`, async (t) => {
    t.requires(resource)
    const driver = await t.driver({ controller: ['EXPAND_VOLUME', 'MODIFY_VOLUME'] })
    const user = await userWith(t, without(t, resource))
    const sidecar = await t.sidecar({ driver, user })
    await logs(
      sidecar,
      `User "${user.name}" cannot list resource "${resource}"`,
      `User "${user.name}" cannot watch resource "${resource}"`,
    )
    await pause(500)
    equal(sidecar.exit, undefined)
    await t.api.merge(CLUSTER_ROLES, { name: t.name('role') }, { rules: FACTS.resizer.rules })
    await t.watching(sidecar, resource)
  })
}

resizer('without events: refused with a line, the claim is resized anyway', async (t) => {
  const user = await userWith(t, without(t, 'events'))
  const at = await resizerScene(t, { user })
  await bound(t)
  await ask(t, '2Gi')
  await resized(t, '2Gi')
  await logs(at.resizer, `User "${user.name}" cannot create resource "events"`)
})

resizer('without persistentvolumeclaims/status: the log says what is missing', async (t) => {
  const user = await userWith(t, without(t, 'persistentvolumeclaims/status'))
  const at = await resizerScene(t, { user, args: ['--retry-interval-start=300ms', '--retry-interval-max=1s'] })
  await bound(t)
  await ask(t, '2Gi')
  await logs(at.resizer, `User "${user.name}" cannot patch resource "persistentvolumeclaims/status"`)
  await t.api.merge(CLUSTER_ROLES, { name: t.name('role') }, { rules: FACTS.resizer.rules })
  await resized(t, '2Gi')
})

resizer('without secrets: the event says what is missing', async (t) => {
  const name = t.name('secret')
  await t.create(SECRETS, secret('default', name, { a: 'b' }))
  const user = await userWith(t, without(t, 'secrets'))
  await resizerScene(t, { user })
  await bound(t, { pv: { csi: { controllerExpandSecretRef: { name, namespace: 'default' } } } })
  await ask(t, '2Gi')
  const event = await untilEvent(t, 'VolumeResizeFailed')
  ok(event.includes(`secrets "${name}" is forbidden: User "${user.name}" cannot get resource "secrets"`), event)
})

resizer('a class that becomes readable triggers its claims', { only: 'ours' }, async (t) => {
  await t.create(VOLUME_ATTRIBUTES_CLASSES, attributesClass(t.name('gold'), t.driverName, { a: 'b' }))
  const user = await userWith(t, without(t, 'volumeattributesclasses'))
  const driver = await t.driver({ controller: ['EXPAND_VOLUME', 'MODIFY_VOLUME'] })
  await resizerScene(t, { user, driver, watches: ['persistentvolumeclaims'] })
  await bound(t, { claim: { volumeAttributesClassName: t.name('gold') } })
  await pause(1000)
  await t.api.merge(CLUSTER_ROLES, { name: t.name('role') }, { rules: FACTS.resizer.rules })
  await untilClaim(t, ({ status }) => status?.currentVolumeAttributesClassName === t.name('gold'))
})

attacher('a token that is rotated in its file: the new one is used after a 401', async (t) => {
  const driver = await t.driver({ controller: ['PUBLISH_UNPUBLISH_VOLUME'] })
  const [old, fresh] = [t.cluster.user('attacher'), t.cluster.user('attacher')]
  const tokenFile = join(t.folder, 'token')
  writeFileSync(tokenFile, `${old.token}\n`)
  const gate = await t.gate()
  let revoked = false
  gate.rules.push(({ authorization }) =>
    revoked && authorization === `Bearer ${old.token}` ? refusal(401, 'Unauthorized', 'Unauthorized') : undefined,
  )
  const kubeconfig = t.kubeconfig(gate.url, '', { token: undefined, tokenFile })
  const at = await attacherScene(t, {
    driver,
    gate,
    user: fresh,
    args: [`--kubeconfig=${kubeconfig}`, '--retry-interval-start=300ms'],
  })
  ok(
    gate.requests.every(({ authorization }) => authorization === `Bearer ${old.token}`),
    'the token is trimmed',
  )
  writeFileSync(tokenFile, `${fresh.token}\n`)
  revoked = true
  gate.dropWatches()
  await attach(t, at)
  // The originals read the file once a minute.
  await attached(t, t.name('va'), { within: t.ours ? 15_000 : 90_000 })
  ok(gate.requests.some(({ authorization }) => authorization === `Bearer ${fresh.token}`))
})

attacher('a token that is refused for a while: no exit, and it recovers', async (t) => {
  const gate = await t.gate()
  const driver = await t.driver({ controller: ['PUBLISH_UNPUBLISH_VOLUME'] })
  let refused = false
  gate.rules.push(() => (refused ? refusal(401, 'Unauthorized', 'Unauthorized') : undefined))
  const at = await attacherScene(t, { driver, gate, args: ['--retry-interval-start=300ms', '--retry-interval-max=1s'] })
  refused = true
  gate.dropWatches()
  await attach(t, at)
  await pause(3000)
  equal(at.attacher.exit, undefined)
  refused = false
  await attached(t)
})
