import { PathCheck } from '../http/path-check.ts'
import type { ClusterConfig, ConfigSources } from './cluster-config.ts'
import { inClusterConfig } from './in-cluster.ts'

export interface LoadConfigOptions extends ConfigSources {
  /** --kubeconfig, or several files as kubectl merges them; none or empty: in-cluster, unless `master` is given. */
  readonly kubeconfig?: string | readonly string[] | undefined
  /** Of the kubeconfig. Absent or empty: its current one. */
  readonly context?: string | undefined
  /** --master. */
  readonly master?: string | undefined
}

/** Finds out how to reach the API server. Throws one line that says what is missing or wrong. */
export async function loadClusterConfig(options: LoadConfigOptions): Promise<ClusterConfig> {
  const { clock, log } = options
  return { ...(await readConfig(options)), path: new PathCheck({ clock, log }) }
}

async function readConfig(options: LoadConfigOptions): Promise<ClusterConfig> {
  const { kubeconfig = [], context, master = '', ...sources } = options
  const paths = [kubeconfig].flat().filter((path) => path !== '')
  if (paths.length === 0 && master === '') return inClusterConfig(sources)
  // Loaded here only: a pod has no kubeconfig, and the reader of YAML is not free.
  const { kubeconfigConfig } = await import('./kubeconfig.ts')
  return kubeconfigConfig({ paths, context, master, ...sources })
}
