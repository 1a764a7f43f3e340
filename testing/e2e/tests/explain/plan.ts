import { deepStrictEqual as equal, match } from 'node:assert'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Container, DEPLOYMENTS, type Deployment } from '@csi-sidecars/kube-types'
import { kubeconfigOf, type TestContext } from '../../harness/context.ts'
import { runToEnd } from '../../harness/process/processes.ts'
import { controlPlaneProgram } from '../../harness/programs/binaries.ts'
import { testsOf } from '../../harness/test.ts'
import { asking, onlyReads, PLANNER, READER } from './ask.ts'

const ROOT = resolve(import.meta.dirname, '../../../..')

const test = testsOf('attacher', 'plan')

/** Returns a Deployment with a driver and two Go sidecars, as a vendor's manifest has it. */
export function controllerOf(t: TestContext, name: string): Deployment {
  const labels = { app: name }
  const volumeMounts = [{ name: 'socket-dir', mountPath: '/csi' }]
  const sidecar = (app: string, version: string, args: readonly string[]): Container => ({
    name: `csi-${app}`,
    image: `registry.k8s.io/sig-storage/csi-${app}:${version}`,
    args: ['--csi-address=$(ADDRESS)', '--leader-election', ...args],
    env: [{ name: 'ADDRESS', value: '/csi/csi.sock' }],
    volumeMounts,
  })
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: t.namespace },
    spec: {
      replicas: 0,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          volumes: [{ name: 'socket-dir', emptyDir: {} }],
          containers: [
            sidecar('provisioner', 'v4.0.1', ["--volume-name-prefix=it's", '--logtostderr']),
            { name: 'driver', image: 'example.com/driver:v1', volumeMounts },
            sidecar('resizer', 'v1.0.0', ['--csiTimeout=1m']),
          ],
        },
      },
    },
  }
}

interface PlanInJson {
  readonly containers: readonly { readonly name: string; readonly added: readonly string[] }[]
  readonly patches: Readonly<
    Record<'images' | 'oneProcess', { readonly commands: { readonly forward: string; readonly back: string } }>
  >
}

for (const patch of ['images', 'oneProcess'] as const) {
  test(`the kubectl commands of a plan swap the sidecars and restore the object: ${patch}`, {
    target: 'real',
  }, async (t) => {
    const name = t.name('controller')
    await t.create(DEPLOYMENTS, controllerOf(t, name))
    const ref = { namespace: t.namespace, name }
    const spec = async (): Promise<unknown> => (await t.api.get(DEPLOYMENTS, ref)).spec
    const before = await spec()
    const { ask, user } = await asking(t, [...READER, ...PLANNER])
    const { code, stdout } = await ask('plan', `deployment/${name}`, '--namespace', t.namespace, '-o', 'json')
    equal(code, 1)
    const [plan] = (JSON.parse(stdout) as { readonly plans: readonly PlanInJson[] }).plans
    if (plan === undefined) throw new Error('there is no plan')
    match(plan.containers[0]?.added.join() ?? '', /Topology=false/)
    onlyReads(t, user)
    const { forward, back } = plan.patches[patch].commands
    await shell(t, forward)
    const images = ((await t.api.get(DEPLOYMENTS, ref)).spec?.template.spec?.containers ?? []).map(({ image }) => image)
    equal(
      images.some((image) => image?.includes('sig-storage')),
      false,
    )
    await shell(t, back)
    equal(JSON.stringify(await spec()), JSON.stringify(before))
  })
}

test('a patch of a plan is refused if the object has changed since then', { target: 'real' }, async (t) => {
  const name = t.name('controller')
  await t.create(DEPLOYMENTS, controllerOf(t, name))
  const { ask } = await asking(t, [...READER, ...PLANNER])
  const { stdout } = await ask('plan', `deployment/${name}`, '--namespace', t.namespace, '-o', 'json')
  const [plan] = (JSON.parse(stdout) as { readonly plans: readonly PlanInJson[] }).plans
  await shell(t, `kubectl --namespace ${t.namespace} scale deployment ${name} --replicas=1`)
  const { code, stderr } = await runShell(t, plan?.patches.images.commands.forward ?? '')
  equal(code, 1)
  match(stderr, /^The request is invalid: /)
})

/** Runs a command with kubectl as the administrator. Fails if the command fails. */
async function shell(t: TestContext, command: string): Promise<void> {
  const { code, stderr } = await runShell(t, command)
  equal({ code, stderr }, { code: 0, stderr: '' })
}

async function runShell(t: TestContext, command: string): ReturnType<typeof runToEnd> {
  const { url, ca, adminToken } = t.cluster
  const kubeconfig = join(t.folder, 'admin.json')
  writeFileSync(kubeconfig, JSON.stringify(kubeconfigOf(url, ca, { token: adminToken })))
  const env = { ...process.env, KUBECONFIG: kubeconfig, HOME: t.folder }
  const kubectl = controlPlaneProgram(ROOT, 'kubectl')
  return await runToEnd('sh', ['-c', command.replace(/^kubectl /, `${kubectl} `)], { env })
}
