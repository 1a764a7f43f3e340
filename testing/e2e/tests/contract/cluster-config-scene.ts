import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { kubeconfigOf, type RunningSidecar, type SidecarSetup, type TestContext } from '../../harness/context.ts'

/** A sidecar that reads a kubeconfig with these changes; `around` changes its text. */
export async function reading(
  t: TestContext,
  change: (config: { cluster: Record<string, unknown>; user: Record<string, unknown> }) => void,
  { around = (text) => text, ...setup }: SidecarSetup & { around?: (text: string) => string } = {},
): Promise<RunningSidecar> {
  const driver = await t.fullDriver()
  const gate = await t.gate()
  const user = t.cluster.user(t.app)
  const config = kubeconfigOf(gate.url, t.cluster.certificate.cert, { token: user.token }) as {
    clusters: { cluster: Record<string, unknown> }[]
    users: { user: Record<string, unknown> }[]
  }
  const [cluster, first] = [config.clusters[0]?.cluster ?? {}, config.users[0]?.user ?? {}]
  change({ cluster, user: first })
  const file = join(t.folder, 'config.json')
  writeFileSync(file, around(JSON.stringify(config)))
  return t.sidecar({ driver, gate, user, ...setup, args: [`--kubeconfig=${file}`, ...(setup.args ?? [])] })
}

/** The sidecar reads from the API server. */
export const works = (t: TestContext, sidecar: RunningSidecar): Promise<void> =>
  t.watching(sidecar, 'persistentvolumes')
