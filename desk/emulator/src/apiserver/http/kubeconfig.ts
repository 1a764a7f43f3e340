/** The first lines of each kubeconfig that an emulator writes. */
export const KUBECONFIG_HEAD = 'apiVersion: v1\nkind: Config\ncurrent-context: emulator\n'

/** Returns a kubeconfig for one server and one token. Its entries are JSON, which is valid YAML. */
export function kubeconfigText(cluster: { url: string; token: string; ca?: string | undefined }): string {
  const authority =
    cluster.ca === undefined ? {} : { 'certificate-authority-data': Buffer.from(cluster.ca).toString('base64') }
  const lines = [
    'clusters:',
    `- ${JSON.stringify({ name: 'emulator', cluster: { server: cluster.url, ...authority } })}`,
    'users:',
    `- ${JSON.stringify({ name: 'emulator', user: { token: cluster.token } })}`,
    'contexts:',
    `- ${JSON.stringify({ name: 'emulator', context: { cluster: 'emulator', user: 'emulator', namespace: 'default' } })}`,
    '',
  ]
  return KUBECONFIG_HEAD + lines.join('\n')
}
