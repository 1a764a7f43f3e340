/** A kubeconfig for one server and one token. JSON is YAML, so no writer for YAML is needed. */
export function kubeconfigText(cluster: { url: string; token: string; ca?: string | undefined }): string {
  const authority =
    cluster.ca === undefined ? {} : { 'certificate-authority-data': Buffer.from(cluster.ca).toString('base64') }
  return [
    'apiVersion: v1',
    'kind: Config',
    'current-context: emulator',
    'clusters:',
    `- ${JSON.stringify({ name: 'emulator', cluster: { server: cluster.url, ...authority } })}`,
    'users:',
    `- ${JSON.stringify({ name: 'emulator', user: { token: cluster.token } })}`,
    'contexts:',
    `- ${JSON.stringify({ name: 'emulator', context: { cluster: 'emulator', user: 'emulator', namespace: 'default' } })}`,
    '',
  ].join('\n')
}
