import { NAMESPACES } from '@csi-sidecars/kube-types'
import { type RenderOptions, render } from '../../../charts/tests/helm.ts'
import type { Manifest } from '../../../charts/tests/manifest.ts'
import type { TestContext } from '../../harness/context.ts'

/** Kinds that need a CustomResourceDefinition. */
const OF_OPERATORS = ['monitoring.coreos.com/v1', 'cert-manager.io/v1']

const PLURALS: Readonly<Record<string, string>> = { NetworkPolicy: 'networkpolicies' }
const CLUSTER_WIDE = ['ClusterRole', 'ClusterRoleBinding', 'CSIDriver', 'FlowSchema']

function pathOf({ apiVersion, kind, metadata }: Manifest): string {
  const root = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`
  const plural = PLURALS[kind] ?? `${kind.toLowerCase()}s`
  return CLUSTER_WIDE.includes(kind) ? `${root}/${plural}` : `${root}/namespaces/${metadata.namespace}/${plural}`
}

/** As `render`, with created namespaces of the test. Without custom resources. */
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

export async function createAll(
  { api }: Pick<TestContext, 'api'>,
  objects: readonly Manifest[],
  query = '',
): Promise<void> {
  for (const object of objects) {
    await api.call('POST', `${pathOf(object)}${query}`, { body: object })
  }
}
