<?php
// Prints the value of a key as PHP's clients read it: read.php CLASS ADDRESS KEY.

error_reporting(E_ALL & ~E_DEPRECATED); // it tells of memcache's own properties, among the output
[, $class, $address, $key] = $argv;
[$host, $port] = explode(':', $address);
$client = new $class();
$client->addServer($host, (int)$port);
$value = $client->get($key);
is_string($value) or throw new Exception("$key is " . var_export($value, true));
echo $value;
