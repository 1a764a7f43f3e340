/** How each kubeconfig of an emulator begins. */
export const KUBECONFIG_HEAD = 'apiVersion: v1\nkind: Config\ncurrent-context: emulator\n'

/** A kubeconfig for one server and one token. JSON is YAML, so no writer for YAML is needed. */
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
