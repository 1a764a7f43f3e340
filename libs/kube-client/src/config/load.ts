import { readFileSync } from 'node:fs'
import { isError, messageOf } from '@csi-sidecars/base'
import { hostPort } from '@csi-sidecars/http1'
import { goQuote } from '@csi-sidecars/telemetry'
import { NetworkPathCheck } from '../path-check/path-check.ts'
import type { ClusterConfig, ConfigSources, ServerTrust } from './cluster-config.ts'
import { environmentProxy } from './proxy.ts'
import { TokenFile } from './token-file.ts'
import { environmentRoots, fileError } from './trusted-roots.ts'

/** The flags and the environment that name the API server. */
export interface LoadConfigOptions extends ConfigSources {
  /**
   * The value of --kubeconfig, or several files that are merged as kubectl does. If this value and `master` are empty,
   * the in-cluster configuration is used.
   */
  readonly kubeconfig?: string | readonly string[] | undefined
  /** The context of the kubeconfig. If absent or empty, the current context. */
  readonly context?: string | undefined
  /** The value of --master: the server that replaces the server of the kubeconfig. */
  readonly master?: string | undefined
}

/**
 * Returns the configuration of the connection to the API server. Throws a one-line error that names the missing or
 * invalid part.
 */
export async function loadClusterConfig(options: LoadConfigOptions): Promise<ClusterConfig> {
  const { clock, log } = options
  return { ...(await readConfig(options)), path: new NetworkPathCheck({ clock, log }) }
}

async function readConfig(options: LoadConfigOptions): Promise<ClusterConfig> {
  const { kubeconfig = [], context, master = '', ...sources } = options
  const paths = [kubeconfig].flat().filter((path) => path !== '')
  if (paths.length === 0 && master === '') return inClusterConfig(sources)
  // The module is loaded only when needed: a pod has no kubeconfig, and the YAML parser costs memory.
  const { kubeconfigConfig } = await import('./kubeconfig.ts')
  return kubeconfigConfig({ paths, context, master, ...sources })
}

const FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount'

/** Returns the configuration in a pod, from its environment and the files of its service account. */
export async function inClusterConfig(sources: ConfigSources & { folder?: string }): Promise<ClusterConfig> {
  const { env, clock, log, folder = FOLDER } = sources
  const host = env['KUBERNETES_SERVICE_HOST']
  const port = env['KUBERNETES_SERVICE_PORT']
  if (!host || !port) {
    throw new Error(
      'unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined',
    )
  }
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535)
    throw new Error(`unable to load in-cluster configuration, KUBERNETES_SERVICE_PORT is no port: ${goQuote(port)}`)
  const tokenFile = `${folder}/token`
  // The error for an unreadable token names only the file, as the error of client-go does.
  try {
    readFileSync(tokenFile)
  } catch (error) {
    throw fileError(error, tokenFile)
  }
  const origin = `https://${hostPort(host, Number(port))}`
  return {
    origin,
    basePath: '',
    tls: serviceAccountTrust(`${folder}/ca.crt`, sources),
    credentials: await TokenFile.open(tokenFile, { clock, log }),
    headers: [],
    proxy: environmentProxy(origin, env),
  }
}

function serviceAccountTrust(file: string, { env, log }: ConfigSources): ServerTrust {
  let authorities: () => string | string[] | undefined = () => readFileSync(file, 'utf8')
  try {
    if (!readFileSync(file, 'utf8').includes('-----BEGIN CERTIFICATE-----')) {
      throw new Error('data does not contain any valid RSA or ECDSA certificates')
    }
  } catch (thrown) {
    const error = isError(thrown) && 'code' in thrown ? fileError(thrown, file) : thrown
    log.error(undefined, `Expected to load root CA config from ${file}, but got err: ${messageOf(error)}`)
    authorities = () => environmentRoots(env)
  }
  return { authorities, serverName: undefined, insecure: false }
}
