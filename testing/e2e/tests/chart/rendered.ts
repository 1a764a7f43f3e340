import { basename, join } from 'node:path'
import { freePort } from '@csi-sidecars/emulator'
import { NAMESPACES } from '@csi-sidecars/kube-types'
import { type Example, exampleFile, type RenderOptions, render } from '../../../../charts/tests/helm.ts'
import { type Manifest, podSpecs, sidecar } from '../../../../charts/tests/manifest.ts'
import type { Api } from '../../harness/api/api.ts'
import type { RunningSidecar, TestContext } from '../../harness/context.ts'
import type { FakeDriver } from '../../harness/driver/driver.ts'
import { SUBJECTS, type Subject } from '../../harness/subject.ts'

/** API versions of custom resources that the tests do not create, because their CRDs are not installed. */
const OF_OPERATORS = ['monitoring.coreos.com/v1', 'cert-manager.io/v1']

const PLURALS: Readonly<Record<string, string>> = { NetworkPolicy: 'networkpolicies' }
const CLUSTER_WIDE = ['ClusterRole', 'ClusterRoleBinding', 'CSIDriver', 'FlowSchema']

/** One sidecar of a rendered example of the chart. `values` override the values of the example. */
export interface Installation {
  readonly example: Example
  readonly driver: FakeDriver
  readonly values?: Readonly<Record<string, object>>
  /** Changes the arguments of the rendered container. Default: no change. */
  readonly args?: (rendered: readonly string[]) => readonly string[]
  /** Default: the executable under test. */
  readonly binary?: string
  readonly env?: Readonly<Record<string, string>>
  /** Runs after the chart's objects are created and before the sidecar starts. */
  readonly prepare?: () => Promise<void>
}

function pathOf({ apiVersion, kind, metadata }: Manifest): string {
  const root = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`
  const plural = PLURALS[kind] ?? `${kind.toLowerCase()}s`
  return CLUSTER_WIDE.includes(kind) ? `${root}/${plural}` : `${root}/namespaces/${metadata.namespace}/${plural}`
}

/** Renders the chart into new namespaces of the test, without custom resources. */
export async function renderInto(t: TestContext, options: RenderOptions): Promise<readonly Manifest[]> {
  const objects = render(options).filter(({ apiVersion }) => !OF_OPERATORS.includes(apiVersion))
  const namespaces = new Set(objects.flatMap(({ metadata }) => metadata.namespace ?? []))
  let text = JSON.stringify(objects)
  for (const name of namespaces) {
    await createNamespace(t, t.name(name))
    text = text.replaceAll(`"namespace":"${name}"`, `"namespace":"${t.name(name)}"`)
    text = text.replaceAll(`"namespaces":["${name}"]`, `"namespaces":["${t.name(name)}"]`)
  }
  return JSON.parse(text)
}

export async function createNamespace(
  t: TestContext,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): Promise<void> {
  await t.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } })
}

/** Requests a token of a service account. */
export async function tokenOf(api: Api, namespace: string, account: string): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} }
  return (await api.call<{ status: { token: string } }>('POST', path, { body })).status.token
}

interface Installed {
  readonly running: RunningSidecar
  readonly metricsPort: number
}

/** Starts a sidecar as the chart does, with the values of an example and further values, under its service account. */
export async function installed(
  t: TestContext,
  app: Subject,
  { example, values, args: changed = (args) => args, ...setup }: Installation,
): Promise<Installed> {
  const namespace = t.name('storage')
  const metricsPort = await freePort()
  const kubeconfig = join(t.folder, 'account.json')
  const section = app === 'both' ? 'sidecars' : app
  const objects = await renderInto(t, {
    files: [exampleFile(example)],
    values: {
      fullnameOverride: t.name('chart'),
      driver: { name: t.driverName },
      socketDir: { mountPath: t.folder, fileName: basename(setup.driver.socket) },
      ...(app === 'both'
        ? { process: 'one' }
        : Object.fromEntries(SUBJECTS.map(({ app: each }) => [each, { enabled: each === app }]))),
      ...values,
      [section]: {
        ...(app !== 'both' && { enabled: true }),
        metricsPort,
        additionalArgs: [`--kubeconfig=${kubeconfig}`],
        ...values?.[section],
      },
    },
  })
  await createAll(t, objects)
  await setup.prepare?.()
  const account = podSpecs(objects)[0]?.serviceAccountName ?? ''
  const token = await tokenOf(t.api, namespace, account)
  const gate = await t.gate()
  const file = t.kubeconfig(gate.url, token)
  const { args = [] } = sidecar(objects, section)
  const running = await t.sidecar({
    app,
    gate,
    binary: setup.binary,
    user: { name: `system:serviceaccount:${namespace}:${account}`, token },
    bareArgs: changed(args).map((argument) => argument.replace(kubeconfig, file)),
    env: { POD_NAMESPACE: namespace, ...setup.env },
  })
  return { running, metricsPort }
}

export async function createAll(
  { api }: Pick<TestContext, 'api'>,
  objects: readonly Manifest[],
  query = '',
): Promise<void> {
  for (const object of objects) {
    await api.call('POST', `${pathOf(object)}${query}`, { body: object })
  }
}
