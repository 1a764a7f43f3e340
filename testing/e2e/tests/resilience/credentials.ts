import { deepStrictEqual as equal, ok } from 'node:assert'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CLUSTER_ROLES, type PolicyRule } from '@csi-sidecars/kube-types'
import { FACTS } from '@csi-sidecars/sidecars/facts'
import { refusal } from '../../harness/api/gate.ts'
import { userWith } from '../../harness/api/user.ts'
import type { WireRequest } from '../../harness/api/wire.ts'
import type { RunningSidecar, TestContext } from '../../harness/context.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { attach, attached, scene as attacherScene, attachFailed } from '../../rows/attacher/scene.ts'
import {
  createBoundClaim,
  createTier,
  grown,
  modifiedClaim,
  raised,
  scene as resizerScene,
  untilEvent,
} from '../../rows/resizer/scene.ts'
import { begin, done, QUICK, scene, work } from '../../rows/work.ts'

const LISTED = {
  attacher: ['persistentvolumes', 'volumeattachments', 'csinodes'],
  resizer: ['persistentvolumes', 'persistentvolumeclaims', 'volumeattributesclasses'],
}

/** The verbs for Leases that the charts of all drivers grant. */
const REQUIRED_LEASE_VERBS = ['get', 'create', 'update']

const UNAUTHORIZED = refusal(401, 'Unauthorized', 'Unauthorized')

function without(t: TestContext, resource: string): readonly PolicyRule[] {
  return FACTS[t.app].rules.filter(({ resources }) => !resources?.includes(resource))
}

for (const app of ['attacher', 'resizer'] as const) {
  const test = testsOf(app, 'permissions')

  test('a sidecar with leader election works with the minimal permissions in the chart', async (t) => {
    const rules = FACTS[app].rules.map((rule) =>
      rule.resources?.includes('leases') === true ? { ...rule, verbs: REQUIRED_LEASE_VERBS } : rule,
    )
    const user = await userWith(t, rules)
    await scene(t, { user, args: ['--leader-election'] })
    await work(t)
  })

  for (const resource of LISTED[app]) {
    test(`without permission for ${resource}, the sidecar logs the missing permission, and continues once it is granted`, async (t) => {
      t.requires(resource)
      const driver = await t.driver({ controller: ['PUBLISH_UNPUBLISH_VOLUME', 'EXPAND_VOLUME', 'MODIFY_VOLUME'] })
      const user = await userWith(t, without(t, resource))
      const sidecar = await t.sidecar({ driver, user })
      const refused = (verb: string): string => `User "${user.name}" cannot ${verb} resource "${resource}"`
      await logs(sidecar, refused('list'), refused('watch'))
      await refusedAgain(sidecar, resource)
      await permit(t)
      await t.watching(sidecar, resource)
    })
  }
}

/** The status subresource that a sidecar patches, and how the report of a missing permission names it. */
const STATUS = {
  attacher: ['volumeattachments/status', 'volumeattachments.storage.k8s.io/status'],
  resizer: ['persistentvolumeclaims/status', 'persistentvolumeclaims/status'],
} as const

for (const app of ['attacher', 'resizer'] as const) {
  const [resource, rule] = STATUS[app]
  const title = `without permission for ${resource}, the sidecar reports the missing permission, and continues once it is granted`
  testsOf(app, 'permissions')(title, async (t) => {
    const user = await userWith(t, without(t, resource))
    const { sidecar } = await scene(t, { user, args: QUICK })
    await begin(t)
    await logs(sidecar, `User "${user.name}" cannot patch resource "${resource}"`)
    await reportsRule(t, sidecar, `${rule}: patch`)
    await permit(t)
    await done(t)
  })
}

/** Grants the user of the test the missing permission. */
async function permit(t: TestContext): Promise<void> {
  await t.api.merge(CLUSTER_ROLES, { name: t.name('role') }, { rules: FACTS[t.app].rules })
}

const attacher = testsOf('attacher', 'permissions')
const resizer = testsOf('resizer', 'permissions')

async function logs(sidecar: RunningSidecar, ...texts: readonly string[]): Promise<void> {
  const escaped = texts.map((text) => text.replaceAll('"', '\\"'))
  await eventually(`a line with ${texts.join(' or ')}`, () =>
    sidecar.lines.find((line) => escaped.some((text) => line.includes(text))),
  )
}

/** Waits until the API server forbids another request for this resource, which shows that the sidecar still runs. */
async function refusedAgain({ gate }: RunningSidecar, resource: string): Promise<void> {
  const refusals = (): number => gate.requestsOf(resource).filter(({ code }) => code === 403).length
  const before = refusals()
  await eventually(`another refused request for ${resource}`, () => refusals() > before)
}

/** Checks that our sidecar reports a missing rule in the log, in `/debug/stuck` and in the metric. */
async function reportsRule({ ours }: TestContext, sidecar: RunningSidecar, rule: string): Promise<void> {
  if (!ours) return
  const line = await sidecar.line(`rule="${rule}"`)
  ok(/^E.*"A permission is missing: add this rule/.test(line), line)
  const page = (await sidecar.http('/debug/stuck')).text
  ok(JSON.parse(page).missingPermissions.includes(rule), page)
  const metrics = (await sidecar.http('/metrics')).text
  ok(metrics.includes(`csi_sidecar_missing_permission{resource="${rule.split(/[: ]/)[0]}"} 1\n`), metrics)
}

attacher('without permission for secrets, the attach error names the missing permission', async (t) => {
  const secretRef = await t.createSecret({ a: 'b' })
  const user = await userWith(t, without(t, 'secrets'))
  const at = await attacherScene(t, { user })
  await attach(t, at, { pv: { csi: { controllerPublishSecretRef: secretRef } } })
  const { status } = await attachFailed(t)
  const { name } = secretRef
  const text = `failed to load secret "default/${name}": secrets "${name}" is forbidden: User "${user.name}" cannot get resource "secrets" in API group "" in the namespace "default"`
  equal(status?.attachError?.message, text)
  await reportsRule(t, at.attacher, 'secrets: get')
})

attacher('the attacher logs the missing permission for leases, and leads as soon as it is granted', async (t) => {
  const user = await userWith(t, without(t, 'leases'))
  const driver = await t.driver({ controller: ['PUBLISH_UNPUBLISH_VOLUME'] })
  const sidecar = await t.sidecar({ driver, user, args: ['--leader-election', '--leader-election-retry-period=1s'] })
  await logs(sidecar, `User "${user.name}" cannot get resource "leases"`)
  equal(sidecar.exit, undefined)
  await reportsRule(t, sidecar, 'leases.coordination.k8s.io in namespace default: create, get, update')
  await permit(t)
  await sidecar.line('became leader, starting')
})

resizer('without permission for events, the resizer logs the refusal and still expands the claim', async (t) => {
  const user = await userWith(t, without(t, 'events'))
  const at = await resizerScene(t, { user })
  await grown(t)
  await logs(at.resizer, `User "${user.name}" cannot create resource "events"`)
})

resizer('without permission for secrets, the event of a failed expansion names the missing permission', async (t) => {
  const secretRef = await t.createSecret({ a: 'b' })
  const user = await userWith(t, without(t, 'secrets'))
  const at = await resizerScene(t, { user })
  await raised(t, { pv: { csi: { controllerExpandSecretRef: secretRef } } })
  const event = await untilEvent(t, 'VolumeResizeFailed')
  ok(
    event.includes(`secrets "${secretRef.name}" is forbidden: User "${user.name}" cannot get resource "secrets"`),
    event,
  )
  await reportsRule(t, at.resizer, 'secrets: get')
})

resizer('the resizer modifies claims once it may read VolumeAttributesClasses', { only: 'ours' }, async (t) => {
  const gold = await createTier(t, 'gold')
  const user = await userWith(t, without(t, 'volumeattributesclasses'))
  const driver = await t.driver({ controller: ['EXPAND_VOLUME', 'MODIFY_VOLUME'] })
  const { resizer } = await resizerScene(t, { user, driver, watches: ['persistentvolumeclaims'] })
  await createBoundClaim(t, { claim: { volumeAttributesClassName: gold } })
  await eventually('a refusal', () => resizer.gate.forbidden().some((path) => path.endsWith('volumeattributesclasses')))
  await permit(t)
  await modifiedClaim(t, gold)
})

attacher('the attacher reads the token file again after a 401 answer', async (t) => {
  const driver = await t.driver({ controller: ['PUBLISH_UNPUBLISH_VOLUME'] })
  const [old, fresh] = [t.cluster.user('attacher'), t.cluster.user('attacher')]
  const tokenFile = join(t.folder, 'token')
  writeFileSync(tokenFile, `${old.token}\n`)
  const gate = await t.gate()
  const isOld = ({ authorization }: WireRequest): boolean => authorization === `Bearer ${old.token}`
  const args = [
    `--kubeconfig=${t.kubeconfig(gate.url, '', { token: undefined, tokenFile })}`,
    '--retry-interval-start=300ms',
  ]
  const at = await attacherScene(t, { driver, gate, user: fresh, args })
  ok(gate.requests.every(isOld), 'the token is trimmed')
  writeFileSync(tokenFile, `${fresh.token}\n`)
  gate.rules.push((request) => (isOld(request) ? UNAUTHORIZED : undefined))
  gate.dropWatches()
  await attach(t, at)
  // The wait is longer for the Go sidecars, which read the token file once a minute.
  await attached(t, t.name('va'), { within: t.ours ? 15_000 : 90_000 })
  ok(gate.requests.some(({ authorization }) => authorization === `Bearer ${fresh.token}`))
})

attacher('the attacher survives a period in which its token is refused', async (t) => {
  const at = await attacherScene(t, { args: ['--retry-interval-start=300ms', '--retry-interval-max=1s'] })
  const { gate } = at.attacher
  gate.rules.push(() => UNAUTHORIZED)
  gate.dropWatches()
  await attach(t, at)
  await eventually('five refusals', () => gate.requests.filter(({ code }) => code === 401).length >= 5)
  equal(at.attacher.exit, undefined)
  gate.rules.length = 0
  await attached(t)
})
