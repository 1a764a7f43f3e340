import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Returns the kubeconfig files that kubectl would read. Empty if the service account of the pod is used. */
export function kubeconfigFiles(flag: string | undefined, env: NodeJS.ProcessEnv, home: string): readonly string[] {
  if (flag !== undefined) return [flag]
  const named = (env['KUBECONFIG'] ?? '').split(delimiter).filter((path) => path !== '')
  // Missing files of a list are ignored. If all are missing, the error names the first.
  if (named.length > 0) return named.some(existsSync) ? named.filter(existsSync) : named.slice(0, 1)
  const usual = join(home, '.kube', 'config')
  return existsSync(usual) || env['KUBERNETES_SERVICE_HOST'] === undefined ? [usual] : []
}
