<?php
// Writes values in each of the forms that php-memcached has: values.php ADDRESS FILE [USER PASSWORD].
// With a user it logs in by SASL, which requires the binary protocol.

[, $address, $file] = $argv;
[$host, $port] = explode(':', $address);
$text = file_get_contents($file);
$login = array_slice($argv, 3);

function store(string $key, mixed $value, array $options = []): void
{
	global $host, $port, $login;
	$client = new Memcached();
	if ($login) {
		$client->setOption(Memcached::OPT_BINARY_PROTOCOL, true);
		$client->setSaslAuthData(...$login);
	}
	$client->addServer($host, (int)$port);
	foreach ($options as $option => $setting) {
		$client->setOption($option, $setting) or throw new Exception("$key: option $option is refused");
	}
	$client->set($key, $value) or throw new Exception("$key is not stored: " . $client->getResultMessage());
}

store('php-plain', $text, [Memcached::OPT_COMPRESSION => false]);
store('php-short', 'short');
store('php-fastlz', $text);
store('php-fastlz-long', str_repeat($text, 20));
store('php-zlib', $text, [Memcached::OPT_COMPRESSION_TYPE => Memcached::COMPRESSION_ZLIB]);
store('php-flags', $text, [Memcached::OPT_USER_FLAGS => 77]);

store('php-int', 1000);
store('php-negative', -17);
store('php-float', 0.5);
store('php-large', 1.5e300);
store('php-infinite', INF);
store('php-true', true);
store('php-false', false);

$list = ['status' => 'success', 'counts' => array_fill(0, 1000, 1000)];
$json = [Memcached::OPT_SERIALIZER => Memcached::SERIALIZER_JSON];
store('php-json', ['count' => 1000], $json);
store('php-json-fastlz', $list, $json);
store('php-json-zlib', $list, $json + [Memcached::OPT_COMPRESSION_TYPE => Memcached::COMPRESSION_ZLIB]);
store('php-json-string', $text, $json);

store('php-serialised', $list, [Memcached::OPT_SERIALIZER => Memcached::SERIALIZER_PHP]);
store('php-igbinary', $list, [Memcached::OPT_SERIALIZER => Memcached::SERIALIZER_IGBINARY]);
store('php-msgpack', $list, [Memcached::OPT_SERIALIZER => Memcached::SERIALIZER_MSGPACK]);
