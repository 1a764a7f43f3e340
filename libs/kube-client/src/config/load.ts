import { PathCheck } from '../path-check.ts'
import type { ClusterConfig, ConfigSources } from './cluster-config.ts'
import { inClusterConfig } from './in-cluster.ts'

export interface LoadConfigOptions extends ConfigSources {
  /** --kubeconfig; empty or absent: in-cluster, unless `master` is given. */
  readonly kubeconfig?: string | undefined
  /** --master. */
  readonly master?: string | undefined
}

/** Finds out how to reach the API server. Throws one line that says what is missing or wrong. */
export async function loadClusterConfig(options: LoadConfigOptions): Promise<ClusterConfig> {
  const { clock, log } = options
  return { ...(await readConfig(options)), path: new PathCheck({ clock, log }) }
}

async function readConfig(options: LoadConfigOptions): Promise<ClusterConfig> {
  const { kubeconfig = '', master = '', ...sources } = options
  if (kubeconfig === '' && master === '') return inClusterConfig(sources)
  // Loaded here only: a pod has no kubeconfig, and the reader of YAML is not free.
  const { kubeconfigConfig } = await import('./kubeconfig.ts')
  return kubeconfigConfig({ path: kubeconfig, master, ...sources })
}
