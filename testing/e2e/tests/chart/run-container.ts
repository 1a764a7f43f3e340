import { mkdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { TestContext } from '../../harness/context.ts'
import { runToEnd } from '../../harness/process/processes.ts'
import type { ContainerSpec } from './pod.ts'

const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'
/** The path of Node.js in our images. */
const NODE = '/bin/node'

/** Runs the program of a container to its end, with Node.js and the token of a service account. */
export async function runContainer(
  t: TestContext,
  container: ContainerSpec | undefined,
  token: string,
): Promise<{ code: number | null; output: string }> {
  const { command = [], args = [], env = [] } = container ?? {}
  if (command.join() !== NODE) throw new Error(`this kubelet runs ${NODE}, not ${command.join(' ')}`)
  const folder = join(t.folder, basename(ACCOUNT))
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'token'), token)
  writeFileSync(join(folder, 'ca.crt'), t.cluster.ca)
  const { hostname, port } = new URL(t.cluster.url)
  return runToEnd(process.execPath, args, {
    env: {
      KUBERNETES_SERVICE_HOST: hostname,
      KUBERNETES_SERVICE_PORT: port,
      ...Object.fromEntries(env.map(({ name, value = '' }) => [name, value.replace(ACCOUNT, folder)])),
    },
  })
}
