import { PathCheck } from '../http/path-check.ts'
import type { ClusterConfig, ConfigSources } from './cluster-config.ts'
import { inClusterConfig } from './in-cluster.ts'

export interface LoadConfigOptions extends ConfigSources {
  /**
   * The value of --kubeconfig, or several files that are merged as kubectl does. If it is empty, and `master` too, the
   * in-cluster configuration is used.
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
  return { ...(await readConfig(options)), path: new PathCheck({ clock, log }) }
}

async function readConfig(options: LoadConfigOptions): Promise<ClusterConfig> {
  const { kubeconfig = [], context, master = '', ...sources } = options
  const paths = [kubeconfig].flat().filter((path) => path !== '')
  if (paths.length === 0 && master === '') return inClusterConfig(sources)
  // The module is loaded only when needed: a pod has no kubeconfig, and the YAML parser costs memory.
  const { kubeconfigConfig } = await import('./kubeconfig.ts')
  return kubeconfigConfig({ paths, context, master, ...sources })
}
